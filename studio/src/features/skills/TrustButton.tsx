import { type Skill, useTrustSkill } from "../../api/skills";
import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { Button } from "../../ui/Button";
import { ErrorNote } from "../../ui/ErrorNote";
import { toast } from "../../ui/Toast";

/** Trusts one skill; above the link that covers a line of the list. */
export function TrustButton({ skill, small }: { skill: Pick<Skill, "mention" | "name">; small?: boolean }) {
  const words = useWords("skills");
  const { mutate, isPending, error } = useTrustSkill();
  return (
    <span className="relative z-10 inline-flex flex-wrap items-center gap-2">
      <Button
        small={small}
        tone={small ? "plain" : "primary"}
        busy={isPending}
        onClick={() => mutate(skill, { onSuccess: () => toast(words.trusted(displayText(skill.name))) })}
      >
        {words.trust}
      </Button>
      <ErrorNote error={error} />
    </span>
  );
}

/** Says that a skill is not used yet, and lets it be trusted. */
export function TrustNote({ skill }: { skill: Pick<Skill, "mention" | "name"> }) {
  const words = useWords("skills");
  return (
    <section
      aria-label={words.untrusted}
      className="flex flex-col items-start gap-2 rounded-md border border-wait bg-wait-soft p-3"
    >
      <p>{words.untrustedHint}</p>
      <TrustButton skill={skill} />
    </section>
  );
}
