import { Link } from "wouter";
import { type Run, useRun } from "../../api/runs";
import { useFormat, useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { ErrorNote } from "../../ui/ErrorNote";
import { StatusMark } from "../../ui/StatusMark";
import { Cell, HeadCell, Row, Table } from "../../ui/Table";

/** On a phone four columns fit only without much room between them. */
const NARROW = "max-sm:px-1 max-sm:text-xs max-sm:first:pl-2 max-sm:last:pr-2";
const NAME = `${NARROW} sm:whitespace-nowrap`;
const WORDS = `${NARROW} text-right [overflow-wrap:anywhere]`;

/** What both runs took, next to each other, and the difference. */
export function Totals({ a, b }: { a: string; b: string }) {
  const words = useWords("compare");
  const format = useFormat();
  const [first, second] = [useRun(a), useRun(b)];
  const runs = [first.data, second.data];
  const figures: [string, (run: Run) => number | null, (value: number) => string][] = [
    [words.duration, (run) => durationOf(run), format.duration],
    [words.inputTokens, (run) => run.input_tokens, format.number],
    [words.outputTokens, (run) => run.output_tokens, format.number],
    [words.cachedTokens, (run) => run.cached_tokens, format.number],
    [words.cost, (run) => run.cost_usd, format.money],
    [words.calls, (run) => run.tool_calls, format.number],
    [words.steps, (run) => run.steps, format.number],
  ];
  return (
    <>
      <ErrorNote error={first.error ?? second.error} />
      <Table caption={words.totals}>
        <thead>
          <tr>
            <HeadCell>
              <span className="sr-only">{words.figure}</span>
            </HeadCell>
            {[a, b].map((id, index) => (
              <HeadCell key={index === 0 ? "a" : "b"} className={`text-right ${NARROW}`}>
                {index === 0 ? "A" : "B"}{" "}
                <Link href={`/runs/${encodeURIComponent(id)}`} className="font-mono">
                  <span className="max-sm:hidden">{displayText(truncate(id, 8))}</span>
                  <span className="sm:hidden">{displayText(truncate(id, 0))}</span>
                </Link>
              </HeadCell>
            ))}
            <HeadCell className={`text-right ${NARROW}`}>{words.difference}</HeadCell>
          </tr>
        </thead>
        <tbody>
          <Row>
            <Cell className={NAME}>{words.status}</Cell>
            {runs.map((run, index) => (
              <Cell key={index === 0 ? "a" : "b"} className={WORDS}>
                {run ? <StatusMark state={run.status} /> : "…"}
              </Cell>
            ))}
            <Cell className={NARROW} />
          </Row>
          <Row>
            <Cell className={NAME}>{words.model}</Cell>
            {runs.map((run, index) => (
              <Cell key={index === 0 ? "a" : "b"} className={WORDS}>
                {run ? displayText(run.model) || "–" : "…"}
              </Cell>
            ))}
            <Cell className={NARROW} />
          </Row>
          {figures.map(([name, figureOf, show]) => {
            const [left, right] = runs.map((run) => (run ? figureOf(run) : null));
            return (
              <Row key={name}>
                <Cell className={NAME}>{name}</Cell>
                <Cell figure className={NARROW}>
                  {formatValue(left, show)}
                </Cell>
                <Cell figure className={NARROW}>
                  {formatValue(right, show)}
                </Cell>
                <Cell figure className={NARROW}>
                  {difference(left, right, show)}
                </Cell>
              </Row>
            );
          })}
        </tbody>
      </Table>
    </>
  );
}

/** A long id by its beginning and its end. */
function truncate(id: string, beginning: number): string {
  return id.length > beginning + 10 ? `${id.slice(0, beginning)}…${id.slice(-6)}` : id;
}

function formatValue(value: number | null | undefined, show: (value: number) => string): string {
  return typeof value === "number" ? show(value) : "–";
}

function difference(
  a: number | null | undefined,
  b: number | null | undefined,
  show: (value: number) => string,
): string {
  if (typeof a !== "number" || typeof b !== "number") {
    return "";
  }
  return a === b ? "=" : `${b > a ? "+" : "−"}${show(Math.abs(b - a))}`;
}

function durationOf(run: Run): number | null {
  if (!run.started_at) {
    return null;
  }
  return Math.max(0, Date.parse(run.completed_at ?? run.updated_at) - Date.parse(run.started_at));
}
