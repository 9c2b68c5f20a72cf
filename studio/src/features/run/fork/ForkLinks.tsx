import { Link } from "wouter";
import { useForks } from "../../../api/forks";
import type { RunView } from "../../../events";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { ForkIcon } from "../../../ui/icons";
import { StatusMark } from "../../../ui/StatusMark";

/** The runs that were forked from this one, and a way to compare a fork with its parent; nothing where there are none. */
export function ForkLinks({ runId, view }: { runId: string; view: RunView }) {
  const words = useWords("fork");
  const { fork, task_id, kind } = view.state;
  const children = useForks(runId, task_id, kind).data ?? [];
  if (!fork && children.length === 0) {
    return null;
  }
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-soft">
      {fork ? (
        <Link href={`/compare?a=${encodeURIComponent(fork.run_id)}&b=${encodeURIComponent(runId)}`}>
          {words.compare}
        </Link>
      ) : null}
      {children.length > 0 ? (
        <div className="flex flex-wrap items-center gap-1.5">
          <ForkIcon className="size-4 shrink-0" />
          <span id="forks-of-run">{words.children(children.length)}</span>
          <ul aria-labelledby="forks-of-run" className="flex flex-wrap gap-x-3 gap-y-1">
            {children.map((child) => (
              <li key={child.run_id} className="flex items-center gap-1.5">
                <Link
                  href={`/runs/${encodeURIComponent(child.run_id)}`}
                  className="font-mono [overflow-wrap:anywhere]"
                >
                  {displayText(child.run_id)}
                </Link>
                <StatusMark state={child.status} />
              </li>
            ))}
          </ul>
        </div>
      ) : null}
    </div>
  );
}
