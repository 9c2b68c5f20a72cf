import { useEffect, useRef } from "react";
import { useLocation } from "wouter";
import type { RunRow } from "../../api/runs";
import { useWords } from "../../i18n";
import { useKeys } from "../../lib/keys";
import { Button } from "../../ui/Button";
import { HeadCell, Table } from "../../ui/Table";
import { RunLine } from "./RunLine";

const WIDE = "hidden lg:table-cell";
const MIDDLE = "hidden md:table-cell";

/** The runs as a table whose rows are walked with J and K; more are fetched when its end comes into sight. */
export function RunsTable({
  rows,
  more,
  loading,
  onMore,
  onSearch,
}: {
  rows: readonly RunRow[];
  more: boolean;
  loading: boolean;
  onMore: () => void;
  onSearch: () => void;
}) {
  const words = useWords("runs");
  const body = useRef<HTMLTableSectionElement>(null);
  const end = useRef<HTMLDivElement>(null);
  useRowKeys(body, onSearch);
  useIntersection(end, more && !loading, onMore);
  return (
    <div className="flex flex-col gap-2">
      <Table caption={words.list}>
        <thead>
          <tr>
            <HeadCell className="hidden sm:table-cell">{words.status}</HeadCell>
            <HeadCell className="w-full">{words.task}</HeadCell>
            <HeadCell className={WIDE}>{words.skill}</HeadCell>
            <HeadCell className={WIDE}>{words.model}</HeadCell>
            <HeadCell className={MIDDLE}>{words.started}</HeadCell>
            <HeadCell className={`${MIDDLE} text-right`}>{words.duration}</HeadCell>
            <HeadCell className={`${MIDDLE} text-right`}>{words.tokens}</HeadCell>
            <HeadCell className={`${MIDDLE} text-right`}>{words.cost}</HeadCell>
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row) => (
            <RunLine key={row.run_id} row={row} />
          ))}
        </tbody>
      </Table>
      <div ref={end} className="flex items-center justify-between gap-2 text-xs text-soft">
        <span role="status">{words.count(rows.length, more)}</span>
        {more ? (
          <Button small tone="quiet" busy={loading} onClick={onMore}>
            {words.more}
          </Button>
        ) : null}
      </div>
    </div>
  );
}

/** J and K move the focus from run to run, Enter opens the one that has it. */
function useRowKeys(body: React.RefObject<HTMLTableSectionElement | null>, onSearch: () => void): void {
  const words = useWords("runs");
  const [, navigate] = useLocation();
  const last = useRef<string | null>(null);
  const links = () => [...(body.current?.querySelectorAll<HTMLAnchorElement>("a[data-run]") ?? [])];
  const move = (by: 1 | -1) => {
    const all = links();
    const at = all.findIndex((link) => link.dataset.run === last.current);
    const next = all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + by))];
    last.current = next?.dataset.run ?? null;
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  useKeys([
    { keys: "j", label: words.keyNext, run: () => move(1) },
    { keys: "k", label: words.keyPrevious, run: () => move(-1) },
    {
      keys: "Enter",
      label: words.keyOpen,
      run: () => {
        const id = last.current ?? links()[0]?.dataset.run;
        if (id) {
          navigate(`/runs/${encodeURIComponent(id)}`);
        }
      },
    },
    { keys: "/", label: words.keySearch, run: onSearch },
  ]);
}

/** Calls back when an element comes into sight, while that is wanted. */
function useIntersection(
  ref: React.RefObject<HTMLElement | null>,
  enabled: boolean,
  onVisible: () => void,
): void {
  const latest = useRef(onVisible);
  latest.current = onVisible;
  useEffect(() => {
    const element = ref.current;
    if (!element || !enabled) {
      return;
    }
    const watcher = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && latest.current(),
      {
        rootMargin: "400px",
      },
    );
    watcher.observe(element);
    return () => watcher.disconnect();
  }, [ref, enabled]);
}
