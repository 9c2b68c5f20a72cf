import { useState } from "react";
import { problemOf } from "../../api/problem";
import { type Candidate, useInstallSkills } from "../../api/skills";
import { useWords } from "../../i18n";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { ErrorNote } from "../../ui/ErrorNote";
import { Checkbox, TextInput } from "../../ui/Field";
import { toast } from "../../ui/Toast";
import { CandidateCard } from "./CandidateCard";

const FORM = "install-source";

/** Installs skills in two steps: what they are and what the scan found, then exactly those that were agreed to. */
export function InstallDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = useWords("skills");
  const install = useInstall(onClose);
  const { candidates, selectedNames } = install;
  return (
    <Dialog
      open={open}
      onClose={install.leave}
      title={words.installTitle}
      description={words.installHint}
      wide
      actions={
        candidates ? (
          <>
            <Button key="back" onClick={install.back}>
              {words.back}
            </Button>
            <Button
              key="install"
              tone="primary"
              busy={install.busy}
              disabled={!install.agreed || selectedNames.length === 0}
              onClick={install.confirm}
            >
              {words.installDo(selectedNames.length)}
            </Button>
          </>
        ) : (
          <Button key="look" type="submit" form={FORM} tone="primary" busy={install.busy}>
            {words.look}
          </Button>
        )
      }
    >
      <div className="flex flex-col gap-3">
        {candidates ? (
          <Candidates install={install} candidates={candidates} />
        ) : (
          <SourceForm install={install} />
        )}
        <ErrorNote error={install.error} />
      </div>
    </Dialog>
  );
}

type InstallState = ReturnType<typeof useInstall>;

function SourceForm({ install }: { install: InstallState }) {
  const words = useWords("skills");
  return (
    <form
      id={FORM}
      className="grid gap-3 sm:grid-cols-[2fr_1fr]"
      onSubmit={(event) => {
        event.preventDefault();
        install.look();
      }}
    >
      <TextInput
        label={words.source}
        hint={words.sourceHint}
        required
        maxLength={2000}
        autoComplete="off"
        spellCheck={false}
        value={install.source}
        onChange={(event) => install.setSource(event.target.value)}
      />
      <TextInput
        label={words.ref}
        hint={words.refHint}
        maxLength={300}
        autoComplete="off"
        spellCheck={false}
        value={install.ref}
        onChange={(event) => install.setRef(event.target.value)}
      />
    </form>
  );
}

function Candidates({ install, candidates }: { install: InstallState; candidates: readonly Candidate[] }) {
  const words = useWords("skills");
  return (
    <>
      <ul className="flex flex-col gap-2" aria-label={words.candidates}>
        {candidates.map((candidate) => (
          <CandidateCard
            key={candidate.name}
            candidate={candidate}
            isSelected={install.selectedNames.includes(candidate.name)}
            onToggle={(on) => install.toggle(candidate.name, on)}
          />
        ))}
      </ul>
      <Checkbox
        label={words.consent}
        checked={install.agreed}
        onChange={(event) => install.setAgreed(event.target.checked)}
      />
    </>
  );
}

function useInstall(onClose: () => void) {
  const words = useWords("skills");
  const { mutate, isPending, error, reset } = useInstallSkills();
  const [source, setSource] = useState("");
  const [ref, setRef] = useState("");
  const [candidates, setCandidates] = useState<Candidate[] | null>(null);
  const [selectedNames, setSelectedNames] = useState<string[]>([]);
  const [agreed, setAgreed] = useState(false);
  const request = { source: source.trim(), ...(ref.trim() ? { ref: ref.trim() } : {}) };
  const back = () => {
    reset();
    setCandidates(null);
    setAgreed(false);
  };
  const show = (skills: Candidate[]) => {
    setCandidates(skills);
    setAgreed(false);
    setSelectedNames(skills.filter((skill) => skill.verdict !== "malicious").map((skill) => skill.name));
  };
  const leave = () => {
    back();
    setSource("");
    setRef("");
    onClose();
  };
  const confirm = () => {
    const digests = (candidates ?? []).filter((candidate) => selectedNames.includes(candidate.name));
    mutate(
      {
        ...request,
        skills: selectedNames,
        agreed: Object.fromEntries(digests.map((candidate) => [candidate.name, candidate.digest])),
      },
      {
        onSuccess: ({ skills }) => {
          toast(words.installed(skills.map((skill) => skill.name).join(", ")));
          leave();
        },
        onError: (refusal) => {
          const changed = problemOf(refusal).details.skills;
          if (Array.isArray(changed)) {
            show(changed as Candidate[]);
          }
        },
      },
    );
  };
  return {
    source,
    setSource,
    ref,
    setRef,
    candidates,
    selectedNames,
    agreed,
    setAgreed,
    error,
    busy: isPending,
    back,
    leave,
    confirm,
    look: () => mutate({ ...request, everything: true }, { onSuccess: ({ skills }) => show(skills) }),
    toggle: (name: string, on: boolean) =>
      setSelectedNames((before) => (on ? [...before, name] : before.filter((other) => other !== name))),
  };
}
