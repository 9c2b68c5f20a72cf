import { useState } from "react";
import { useLocation } from "wouter";
import { problemOf } from "../../api/problem";
import { type SkillRuntime, useCreateSkill } from "../../api/skills";
import { useWords } from "../../i18n";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { ErrorNote, useProblemText } from "../../ui/ErrorNote";
import { Select, TextArea, TextInput } from "../../ui/Field";

const NAME_PATTERN = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const FORM = "new-skill";

/** Writes a new skill into the project, and goes to it. */
export function NewSkillDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = useWords("skills");
  const { mutate, isPending, error, reset } = useCreateSkill();
  return (
    <Dialog
      open={open}
      onClose={() => {
        reset();
        onClose();
      }}
      title={words.createTitle}
      description={words.createHint}
      actions={
        <Button type="submit" form={FORM} tone="primary" busy={isPending}>
          {words.createDo}
        </Button>
      }
    >
      <NewSkillForm error={error} onChange={reset} onSubmit={mutate} />
    </Dialog>
  );
}

type Create = ReturnType<typeof useCreateSkill>["mutate"];

function NewSkillForm({
  error,
  onChange,
  onSubmit,
}: {
  error: unknown;
  onChange: () => void;
  onSubmit: Create;
}) {
  const words = useWords("skills");
  const problemText = useProblemText();
  const [, navigate] = useLocation();
  const [draft, setDraft] = useState({ name: "", description: "", body: "" });
  const [runtime, setRuntime] = useState<SkillRuntime | "">("");
  const [isSubmitted, setIsSubmitted] = useState(false);
  const problem = error ? problemOf(error) : null;
  const ofName = problem && (problem.details.field === "name" || problem.kind === "conflict");
  const illegal = draft.name !== "" && !NAME_PATTERN.test(draft.name);
  const missing = (text: string) => (isSubmitted && text.trim() === "" ? words.required : undefined);
  const field = (name: keyof typeof draft) => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) => {
      setDraft({ ...draft, [name]: event.target.value });
      onChange();
    },
  });
  return (
    <form
      id={FORM}
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        setIsSubmitted(true);
        if (!illegal && draft.name && draft.description.trim()) {
          onSubmit(runtime ? { ...draft, runtime } : draft, {
            onSuccess: ({ name }) => navigate(`/skills/${encodeURIComponent(name)}`),
          });
        }
      }}
    >
      <TextInput
        label={words.name}
        hint={words.nameHint}
        autoComplete="off"
        spellCheck={false}
        maxLength={64}
        error={illegal ? words.nameIllegal : ofName ? problemText(problem) : missing(draft.name)}
        {...field("name")}
      />
      <TextArea
        label={words.description}
        hint={words.descriptionHint}
        rows={3}
        maxLength={1024}
        error={missing(draft.description)}
        {...field("description")}
      />
      <Select
        label={words.program}
        hint={words.programHint}
        value={runtime}
        onChange={(event) => setRuntime(event.target.value as SkillRuntime | "")}
        options={[
          { value: "", label: words.noProgram },
          { value: "python", label: "Python" },
          { value: "node", label: "Node" },
          { value: "shell", label: "Shell" },
        ]}
      />
      <TextArea
        label={words.body}
        hint={runtime ? words.bodyOptional : words.bodyHint}
        rows={8}
        className="font-mono"
        spellCheck={false}
        {...field("body")}
      />
      {problem && !ofName ? <ErrorNote error={problem} /> : null}
    </form>
  );
}
