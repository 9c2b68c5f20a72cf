import type { SkillProblem } from "../../api/skills";
import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { ServerText } from "../../ui/ServerText";
import { SeverityMark } from "./SeverityMark";

/** Skills that were found but cannot be used as they are, and why. */
export function CatalogProblems({ problems }: { problems: readonly SkillProblem[] }) {
  const words = useWords("skills");
  if (problems.length === 0) {
    return null;
  }
  return (
    <section aria-labelledby="skill-problems" className="flex flex-col gap-2">
      <h2 id="skill-problems" className="font-semibold">
        {words.problems(problems.length)}
      </h2>
      <ul className="divide-y rounded-lg border border-line bg-surface">
        {problems.map((problem, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two problems may be the same in all they say
          <li key={index} className="flex flex-col gap-1 px-3 py-2 [overflow-wrap:anywhere]">
            <div className="flex flex-wrap items-center gap-2">
              <SeverityMark severity={problem.severity} />
              {problem.name ? <span className="font-medium">{displayText(problem.name)}</span> : null}
            </div>
            <ServerText text={problem.message} />
            {problem.hint ? <ServerText text={problem.hint} className="text-soft" /> : null}
            <p className="font-mono text-xs text-soft">
              {displayText(problem.locator)}
              {problem.details?.line ? ` · ${words.line(problem.details.line)}` : ""}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
