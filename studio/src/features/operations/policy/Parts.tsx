import type { PolicyDecision } from "../../../api/configuration";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { ServerText } from "../../../ui/ServerText";
import { Cell, HeadCell, Row, Table } from "../../../ui/Table";

const MAX_PARTS = 200;

/** Everything the call would do, and what allows each part. */
export function Parts({ parts }: { parts: PolicyDecision["explanation"]["parts"] }) {
  const words = useWords("operations").policy;
  if (parts.length === 0) {
    return null;
  }
  return (
    <div className="flex min-w-0 flex-col gap-1.5">
      <h3 className="font-semibold">{words.parts}</h3>
      <Table caption={words.parts}>
        <thead>
          <tr>
            <HeadCell>{words.part}</HeadCell>
            <HeadCell>{words.allowedBy}</HeadCell>
          </tr>
        </thead>
        <tbody>
          {parts.slice(0, MAX_PARTS).map((part, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the same part may stand there twice, and none ever moves.
            <Row key={index}>
              <Cell className="[overflow-wrap:anywhere]">
                <span className="text-xs text-soft">{words.kinds[part.kind] ?? displayText(part.kind)} </span>
                <code className="font-mono text-xs">{displayText(part.text)}</code>
              </Cell>
              <Cell className="[overflow-wrap:anywhere]">
                {part.allowed_by ? (
                  <ServerText text={part.allowed_by} />
                ) : (
                  <span className="text-soft">
                    {part.objection ? <ServerText text={part.objection} /> : words.noRuleMatched}
                  </span>
                )}
              </Cell>
            </Row>
          ))}
        </tbody>
      </Table>
    </div>
  );
}
