import { useMemo } from "react";
import { classes } from "../../lib/classes";
import { revealHidden } from "../../lib/hiddenCharacters";
import type { DiffLine } from "./model";
import { isContext, type Pair, type Piece, piecesOf } from "./rows";

const MAX_CHARACTERS = 4_000;
const BACKGROUND = { context: "", added: "bg-good-soft", removed: "bg-bad-soft" } as const;
const SIGN = { context: " ", added: "+", removed: "-" } as const;

/** A pair of lines: two rows one below the other, or one row with both sides. */
export function DiffPair({ pair, split }: { pair: Pair; split: boolean }) {
  const pieces = useMemo(() => piecesOf(pair), [pair]);
  if (split) {
    return (
      <tr>
        <LineNumber line={pair.old} at={pair.old?.old} />
        <Text line={pair.old} pieces={pieces.old} />
        <LineNumber line={pair.new} at={pair.new?.new} />
        <Text line={pair.new} pieces={pieces.new} />
      </tr>
    );
  }
  const sides: [DiffLine | null, Piece[]][] = isContext(pair)
    ? [[pair.new, pieces.new]]
    : [
        [pair.old, pieces.old],
        [pair.new, pieces.new],
      ];
  return sides.map(([line, pieces]) =>
    line ? (
      <tr key={line.kind}>
        <LineNumber line={line} at={line.old} />
        <LineNumber line={line} at={line.new} />
        <Text line={line} pieces={pieces} />
      </tr>
    ) : null,
  );
}

function LineNumber({ line, at }: { line: DiffLine | null; at: number | null | undefined }) {
  return (
    <td
      className={classes(
        "px-1.5 text-right align-top text-soft select-none tabular-nums",
        line ? BACKGROUND[line.kind] : "bg-sunken",
      )}
    >
      {at}
    </td>
  );
}

function Text({ line, pieces }: { line: DiffLine | null; pieces: readonly Piece[] }) {
  if (!line) {
    return <td className="bg-sunken" />;
  }
  return (
    <td
      className={classes(
        "px-1 align-top whitespace-pre-wrap [overflow-wrap:anywhere]",
        BACKGROUND[line.kind],
      )}
      dir="ltr"
    >
      <span className="select-none">{SIGN[line.kind]} </span>
      {pieces.map((piece, index) => {
        const text =
          revealHidden(piece.text.slice(0, MAX_CHARACTERS)) + (piece.text.length > MAX_CHARACTERS ? "…" : "");
        const key = `${index}`;
        return piece.isChanged ? (
          <mark
            key={key}
            className={classes(
              "rounded-sm text-text",
              line.kind === "added"
                ? "bg-good/25 underline decoration-good"
                : "bg-bad/25 underline decoration-bad",
            )}
          >
            {text}
          </mark>
        ) : (
          <span key={key}>{text}</span>
        );
      })}
    </td>
  );
}
