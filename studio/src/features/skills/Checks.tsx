import { Link } from "wouter";
import type { SecurityFinding, SkillDocument } from "../../api/skills";
import { useMessages, useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { ServerText } from "../../ui/ServerText";
import { DiagnosticList } from "./DiagnosticList";
import { SeverityMark } from "./SeverityMark";
import { skillPath } from "./skillPath";

/** What is wrong with the text of a skill, and what the security scan found in its files. */
export function Checks({ skill }: { skill: SkillDocument }) {
  const words = useWords("skills");
  return (
    <div className="flex max-w-4xl flex-col gap-5">
      <section aria-labelledby="diagnostics" className="flex flex-col gap-2">
        <h2 id="diagnostics" className="font-semibold">
          {words.diagnostics}
        </h2>
        {skill.diagnostics.length === 0 ? (
          <p className="text-soft">{words.noDiagnostics}</p>
        ) : (
          <DiagnosticList diagnostics={skill.diagnostics} />
        )}
      </section>
      <section aria-labelledby="security" className="flex flex-col gap-2">
        <h2 id="security" className="flex items-center gap-2 font-semibold">
          {words.security}
          {skill.security ? <SeverityMark severity={skill.security.verdict} /> : null}
        </h2>
        {skill.security ? (
          <Scan skill={skill} scan={skill.security} />
        ) : (
          <p className="text-soft">{words.noScan}</p>
        )}
      </section>
    </div>
  );
}

function Scan({ skill, scan }: { skill: SkillDocument; scan: NonNullable<SkillDocument["security"]> }) {
  const words = useWords("skills");
  return (
    <>
      <p className="text-soft">
        {words.scanned(scan.files_read)} {scan.findings.length === 0 ? words.nothingFound : ""}
      </p>
      {scan.findings.length > 0 ? (
        <ul className="divide-y rounded-lg border border-line bg-surface">
          {scan.findings.map((finding) => (
            <Finding
              key={`${finding.code} ${finding.file} ${finding.line} ${finding.excerpt}`}
              finding={finding}
              skill={skill}
            />
          ))}
        </ul>
      ) : null}
      {scan.skipped.map((file) => (
        <p key={file.file} className="text-soft [overflow-wrap:anywhere]">
          {words.skipped(displayText(file.file))} <ServerText text={file.reason} />
        </p>
      ))}
    </>
  );
}

function Finding({ finding, skill }: { finding: SecurityFinding; skill: SkillDocument }) {
  const words = useWords("skills");
  const title = useMessages().finding(finding.code);
  const location = finding.line > 0 ? `${finding.file}:${finding.line}` : finding.file;
  return (
    <li className="flex flex-col gap-1 p-3 [overflow-wrap:anywhere]">
      <div className="flex flex-wrap items-center gap-2">
        <SeverityMark severity={finding.severity} />
        {title ? (
          <span title={displayText(finding.title)} className="font-medium">
            {title}
          </span>
        ) : (
          <ServerText text={finding.title} className="font-medium" />
        )}
        <span className="font-mono text-xs text-soft">{finding.code}</span>
      </div>
      {finding.excerpt ? (
        <pre className="rounded bg-sunken px-2 py-1 font-mono text-xs whitespace-pre-wrap">
          {displayText(finding.excerpt)}
        </pre>
      ) : null}
      <p>
        <ServerText text={finding.why} />
      </p>
      <p className="text-soft">
        {words.remedy}: <ServerText text={finding.remedy} />
      </p>
      <Link
        href={`${skillPath(skill, "files")}?path=${encodeURIComponent(finding.file)}`}
        className="w-fit font-mono text-xs"
      >
        {displayText(location)}
      </Link>
    </li>
  );
}
