import type { NoticeItem } from "../../../events";
import { useMessages, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { InfoIcon } from "../../../ui/icons";
import { ServerText } from "../../../ui/ServerText";
import { Frame } from "./Frame";

/** A small fact about the run. */
export function NoticeEntry({ item }: { item: NoticeItem }) {
  const states = useWords("states").run;
  const messages = useMessages();
  const { details } = item;
  const moved = item.type === "run_state_changed";
  const state = (value: unknown) => states[String(value)] ?? String(value);
  const values = moved ? { from: state(details.from), to: state(details.to) } : details;
  const sentence = [details.message, details.reason].filter(
    (part) => typeof part === "string" && part !== "",
  );
  return (
    <Frame
      item={item}
      icon={<InfoIcon />}
      quiet
      tone={item.type === "run_waiting_human" ? "wait" : "plain"}
      title={<span>{displayText(messages.notice(item.type, values) || item.type)}</span>}
    >
      {sentence.length > 0 ? <ServerText text={sentence.join(" · ")} /> : null}
    </Frame>
  );
}
