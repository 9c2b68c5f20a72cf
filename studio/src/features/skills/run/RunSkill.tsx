import type { SkillDocument } from "../../../api/skills";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { useSearchValues } from "../../../lib/search";
import { ExecutionView } from "./ExecutionView";
import { InputForm } from "./InputForm";
import { RecentExecutions } from "./RecentExecutions";
import { useExecuteSkill } from "./useExecuteSkill";

/** The program of a skill: a form for its input, and what executions of it came to. */
export function RunSkill({ skill }: { skill: SkillDocument }) {
  const words = useWords("execute");
  return skill.executable_as ? (
    <Program skill={skill} name={skill.executable_as} />
  ) : (
    <p className="max-w-3xl text-soft">{skill.state === "untrusted" ? words.notTrusted : words.notHere}</p>
  );
}

function Program({ skill, name }: { skill: SkillDocument; name: string }) {
  const words = useWords("execute");
  const [values, change] = useSearchValues();
  const open = (id: string) => change({ execution: id }, true);
  const executing = useExecuteSkill(name, open);
  return (
    <div className="grid gap-5 lg:grid-cols-[minmax(0,26rem)_minmax(0,1fr)]">
      <div className="flex min-w-0 flex-col gap-5">
        <About skill={skill} />
        <InputForm
          schema={skill.input_schema}
          busy={executing.busy}
          error={executing.error}
          onSubmit={executing.send}
        />
        <RecentExecutions executions={executing.executions} selectedId={values.execution} onChoose={open} />
      </div>
      <div className="min-w-0">
        {values.execution ? (
          <ExecutionView key={values.execution} id={values.execution} />
        ) : (
          <p className="text-soft">{executing.busy ? words.starting : words.nothingYet}</p>
        )}
      </div>
    </div>
  );
}

function About({ skill }: { skill: SkillDocument }) {
  const words = useWords("execute");
  const format = useFormat();
  const { run } = skill;
  if (!run) {
    return null;
  }
  const facts = [
    run.runtime,
    run.timeout_ms ? words.timeLimit(format.duration(run.timeout_ms)) : "",
    run.network ? words.network : words.noNetwork,
    run.env.length > 0 ? words.variables(run.env.join(", ")) : "",
  ];
  return (
    <p className="text-xs text-soft">
      {words.deterministic} {displayText(facts.filter(Boolean).join(" · "))}
    </p>
  );
}
