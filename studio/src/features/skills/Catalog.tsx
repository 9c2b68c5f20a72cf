import { useCallback, useRef } from "react";
import { useSkills } from "../../api/skills";
import { useWords } from "../../i18n";
import { useCommands } from "../../lib/commands";
import { useKeys } from "../../lib/keys";
import { useSearchValues } from "../../lib/search";
import { Button } from "../../ui/Button";
import { EmptyState } from "../../ui/EmptyState";
import { ErrorNote } from "../../ui/ErrorNote";
import { DownloadIcon, PlusIcon } from "../../ui/icons";
import { Page } from "../../ui/Page";
import { SearchField } from "../../ui/SearchField";
import { Skeleton } from "../../ui/Skeleton";
import { CatalogProblems } from "./CatalogProblems";
import { InstallDialog } from "./InstallDialog";
import { NewSkillDialog } from "./NewSkillDialog";
import { SkillList } from "./SkillList";

/** The skills of the workspace: searched by the address, with what is wrong with others. */
export function Catalog() {
  const words = useWords("skills");
  const [values, change] = useSearchValues();
  const query = values.query ?? "";
  const { data, error, isPending, refetch } = useSkills(query);
  const open = (dialog: string) => change({ open: dialog }, true);
  const close = () => change({ open: undefined });
  const search = useCallback((text: string) => change({ query: text || undefined }), [change]);
  const field = useRef<HTMLInputElement>(null);
  useKeys([{ keys: "/", label: words.search, run: () => field.current?.focus() }]);
  useCommands([
    { id: "skill-new", label: words.create, icon: <PlusIcon />, run: () => open("new") },
    { id: "skill-install", label: words.install, icon: <DownloadIcon />, run: () => open("install") },
  ]);
  return (
    <Page
      title={words.title}
      actions={
        <>
          <Button icon={<DownloadIcon />} onClick={() => open("install")}>
            {words.install}
          </Button>
          <Button icon={<PlusIcon />} onClick={() => open("new")}>
            {words.create}
          </Button>
        </>
      }
    >
      <search className="max-w-xl">
        <SearchField
          ref={field}
          value={query}
          onChange={search}
          label={words.search}
          hint={words.searchHint}
        />
      </search>
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending ? <Skeleton lines={6} /> : null}
      {data ? (
        <p role="status" className="text-xs text-soft">
          {words.count(data.total)}
        </p>
      ) : null}
      {data && !query && data.skills.every((skill) => skill.state === "built-in") ? (
        <p className="text-soft">{words.noneHint}</p>
      ) : null}
      {data && data.skills.length > 0 ? <SkillList skills={data.skills} /> : null}
      {data?.skills.length === 0 ? (
        query ? (
          <EmptyState
            title={words.noneFits}
            actions={<Button onClick={() => search("")}>{words.clearSearch}</Button>}
          />
        ) : (
          <EmptyState title={words.none}>{words.noneHint}</EmptyState>
        )
      ) : null}
      <CatalogProblems problems={data?.problems ?? []} />
      <NewSkillDialog open={values.open === "new"} onClose={close} />
      <InstallDialog open={values.open === "install"} onClose={close} />
    </Page>
  );
}
