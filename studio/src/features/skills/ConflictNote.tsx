import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { type SkillDocument, useSkill } from "../../api/skills";
import { useWords } from "../../i18n";
import { Button } from "../../ui/Button";
import { DiffView } from "../../ui/DiffView";
import { WarnIcon } from "../../ui/icons";
import { Skeleton } from "../../ui/Skeleton";

/** The skill changed on the server meanwhile: the difference, and two ways to resolve it. */
export function ConflictNote({
  name,
  localText,
  onKeep,
  onTake,
}: {
  name: string;
  localText: string;
  onKeep: (current: SkillDocument) => void;
  onTake: () => void;
}) {
  const words = useWords("skills");
  const client = useQueryClient();
  const { data, isFetching } = useSkill(name);
  useEffect(() => {
    void client.invalidateQueries({ queryKey: ["skill", name] });
  }, [client, name]);
  return (
    <div role="alert" className="flex flex-col gap-2 rounded-md border border-wait bg-wait-soft p-3">
      <p className="flex items-center gap-2 font-medium">
        <WarnIcon className="size-4 shrink-0 text-wait" />
        {words.conflict}
      </p>
      <p>{words.conflictHint}</p>
      {data && !isFetching ? (
        <>
          <div className="rounded-md bg-surface p-2">
            <DiffView files={[{ path: "SKILL.md", before: data.text, after: localText }]} />
          </div>
          <div className="flex flex-wrap gap-2">
            <Button onClick={() => onKeep(data)}>{words.keepMine}</Button>
            <Button onClick={() => onTake()}>{words.takeTheirs}</Button>
          </div>
        </>
      ) : (
        <Skeleton />
      )}
    </div>
  );
}
