import type { Data, NoticeItem } from "../../../events";
import { useWords } from "../../../i18n";
import { shownText } from "../../../lib/hidden";
import { InfoIcon } from "../../../ui/icons";
import { ServerText } from "../../../ui/ServerText";
import { Frame } from "./Frame";

/** A small fact about the run. */
export function NoticeEntry({ item }: { item: NoticeItem }) {
  const words = useWords("run");
  const states = useWords("states").run;
  const { details } = item;
  const waiting = item.type === "run_waiting_human";
  const moved =
    item.type === "run_state_changed"
      ? [details.from, details.to].map((one) => states[String(one)] ?? shownText(String(one))).join(" → ")
      : "";
  return (
    <Frame
      item={item}
      icon={<InfoIcon />}
      quiet
      tone={waiting ? "wait" : "plain"}
      title={
        <span>
          {words.notices[item.type] ?? shownText(item.type)}
          {moved ? ` ${moved}` : ""}
        </span>
      }
    >
      {said(details) ? <ServerText text={said(details)} /> : null}
    </Frame>
  );
}

function said(details: Data): string {
  return [details.message, details.reason, details.env_var, details.decision]
    .filter((one): one is string => typeof one === "string" && one !== "")
    .join(" · ");
}
