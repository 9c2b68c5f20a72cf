import type { AssistantItem, ReasoningItem, UserItem } from "../../../events";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Badge } from "../../../ui/Badge";
import { MessageIcon, ModelIcon, PersonIcon, WarnIcon } from "../../../ui/icons";
import { Spinner } from "../../../ui/Spinner";
import { Collapsible, Frame } from "./Frame";
import { MessageText } from "./MessageText";

/** What a person said, or what the run was told in their place. */
export function UserEntry({ item }: { item: UserItem }) {
  const words = useWords("run");
  return (
    <Frame
      item={item}
      icon={
        item.source === "rejected" ? <WarnIcon /> : item.source === "steer" ? <MessageIcon /> : <PersonIcon />
      }
      tone={item.source === "rejected" ? "wait" : "person"}
      title={words.users[item.source]}
    >
      <MessageText text={item.text} />
    </Frame>
  );
}

/** What the model said; as Markdown once it is complete. */
export function AssistantEntry({ item }: { item: AssistantItem }) {
  const words = useWords("run");
  return (
    <Frame
      item={item}
      icon={<ModelIcon />}
      tone="model"
      title={
        <span>
          {item.history ? words.modelBefore : item.purpose === "compaction" ? words.summing : words.model}
          {item.model ? <bdi className="ml-1.5 font-normal text-soft">{displayText(item.model)}</bdi> : null}
        </span>
      }
      marks={
        <>
          {item.complete ? null : <Spinner label={words.writing} />}
          {item.discarded ? <Badge tone="wait">{words.discarded}</Badge> : null}
        </>
      }
    >
      <MessageText text={item.text} markdown={item.complete} />
    </Frame>
  );
}

/** What the model thought; folded, for it is not what it said. */
export function ReasoningEntry({ item }: { item: ReasoningItem }) {
  const words = useWords("run");
  const format = useFormat();
  return (
    <Frame item={item} icon={<ModelIcon />} tone="model" quiet title={words.reasoning}>
      <Collapsible id={item.key} title={words.reasoningSize(format.number(item.text.length))}>
        <MessageText text={item.text} />
      </Collapsible>
    </Frame>
  );
}
