import { useMemo } from "react";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Cell, HeadCell, Row, Table } from "../../../ui/Table";
import { readCsv } from "./preview";

const MAX_ROWS = 500;
const MAX_COLUMNS = 60;
const MAX_CHARACTERS = 500;

/** A table that a file holds as text; its first row names the columns. */
export function CsvTable({ text, name }: { text: string; name: string }) {
  const words = useWords("artifacts");
  const format = useFormat();
  const { rows, complete } = useMemo(
    () => readCsv(text, name.toLowerCase().endsWith(".tsv") ? "\t" : ",", MAX_ROWS + 1),
    [text, name],
  );
  const [head = [], ...body] = rows.map((row) => row.slice(0, MAX_COLUMNS).map(truncate));
  return (
    <>
      <Table caption={displayText(name)}>
        <thead>
          <tr>
            {head.map((title, column) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other identity
              <HeadCell key={column} className={isFigure(body[0]?.[column]) ? "text-right" : undefined}>
                {title}
              </HeadCell>
            ))}
          </tr>
        </thead>
        <tbody>
          {body.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity
            <Row key={index}>
              {row.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: cells have no other identity
                <Cell key={column} figure={isFigure(cell)}>
                  {cell}
                </Cell>
              ))}
            </Row>
          ))}
        </tbody>
      </Table>
      {complete ? null : <p className="mt-1 text-xs text-soft">{words.firstRows(format.number(MAX_ROWS))}</p>}
    </>
  );
}

function truncate(cell: string): string {
  const text = displayText(cell);
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}

function isFigure(cell: string | undefined): boolean {
  return cell !== undefined && /^-?[\d.,]+%?$/.test(cell);
}
