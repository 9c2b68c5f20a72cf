import type { CallItem, Data } from "../../../events";
import { useFormat, useMessages, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Badge } from "../../../ui/Badge";
import { CodeBlock } from "../../../ui/CodeBlock";
import { ToolIcon } from "../../../ui/icons";
import { JsonView } from "../../../ui/JsonView";
import { StatusMark } from "../../../ui/StatusMark";
import { CallDecisions } from "./CallDecisions";
import { CallEffects } from "./CallEffects";
import { sizeOf, summarizeArguments } from "./callSummary";
import { Collapsible, Frame } from "./Frame";
import { OpenApproval } from "./OpenApproval";
import { useRunContext } from "./runContext";

const TONES = { ok: "good", failed: "bad", denied: "bad", waiting: "wait" } as const;

/** A call of a tool: what it was for in one line, its input and output folded, its errors and decisions in the open. */
export function CallEntry({ item }: { item: CallItem }) {
  const words = useWords("run");
  const format = useFormat();
  const { asking } = useRunContext();
  const summary = summarizeArguments(item.arguments);
  const state = asking.has(item.call_id) && item.result === null ? "waiting" : item.state;
  const open = item.approvals.filter((approval) => approval.decision === null && !approval.refused);
  return (
    <Frame
      item={item}
      icon={<ToolIcon />}
      tone={TONES[state as keyof typeof TONES] ?? "plain"}
      title={
        <span className="flex min-w-0 flex-wrap gap-x-2">
          <code className="font-mono text-[0.8125rem]">{displayText(item.tool)}</code>
          {summary ? (
            <bdi className="line-clamp-2 min-w-0 font-mono text-[0.8125rem] font-normal break-all text-soft">
              {displayText(summary)}
            </bdi>
          ) : null}
        </span>
      }
      marks={
        <>
          <StatusMark of="call" state={state} />
          {item.duration_ms === null ? null : (
            <span className="text-xs text-soft tabular-nums">{format.duration(item.duration_ms)}</span>
          )}
          {item.arguments_valid ? null : <Badge tone="bad">{words.invalidArguments}</Badge>}
        </>
      }
    >
      {item.arguments_error ? (
        <CodeBlock text={item.arguments_error} label={words.invalidArguments} lines={8} />
      ) : null}
      <CallDecisions approvals={item.approvals} />
      {item.result && !item.result.ok ? (
        <Failure result={item.result} denied={item.state === "denied"} />
      ) : null}
      {open.map((approval) => (
        <OpenApproval key={approval.approval_id} approval={approval} />
      ))}
      <div className="flex flex-col">
        {Object.keys(item.arguments).length > 0 ? (
          <Collapsible
            id={`${item.key}-input`}
            title={`${words.input} · ${format.bytes(sizeOf(item.arguments))}`}
          >
            <JsonView value={item.arguments} depth={3} />
          </Collapsible>
        ) : null}
        {item.result ? (
          <Collapsible
            id={`${item.key}-output`}
            title={`${words.output} · ${format.bytes(item.size ?? sizeOf(item.result))}`}
          >
            <Output result={item.result} />
          </Collapsible>
        ) : null}
      </div>
      <CallEffects item={item} />
    </Frame>
  );
}

/** What went wrong with a call; never folded. */
function Failure({ result, denied }: { result: Data; denied: boolean }) {
  const words = useWords("run");
  const messages = useMessages();
  const sentence = [result.stderr, result.message, result.error].find(
    (value) => typeof value === "string" && value !== "",
  );
  const kind = typeof result.error_kind === "string" ? result.error_kind : "";
  const code =
    typeof result.exit_code === "number" && kind !== "exit_code" ? words.exitCode(result.exit_code) : "";
  const meaning = messages.error(kind, result) || kind;
  if (denied && !sentence) {
    return null;
  }
  return (
    <div className="border-l-2 border-bad pl-2">
      <p className="text-xs text-bad">
        {[words.failed, code, displayText(meaning)].filter(Boolean).join(" · ")}
      </p>
      {sentence ? <CodeBlock text={String(sentence)} label={words.failed} lines={12} /> : null}
    </div>
  );
}

function Output({ result }: { result: Data }) {
  const words = useWords("run");
  const { stdout, stderr, ...rest } = result;
  return (
    <div className="flex flex-col gap-1.5">
      {typeof stdout === "string" && stdout ? <CodeBlock text={stdout} label={words.output} /> : null}
      {typeof stderr === "string" && stderr && result.ok ? (
        <CodeBlock text={stderr} label={words.errorOutput} />
      ) : null}
      <JsonView value={rest} depth={1} />
    </div>
  );
}
