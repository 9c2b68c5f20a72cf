import { useState } from "react";
import { useWords } from "../i18n";
import { copyText } from "../lib/copy";
import { Button } from "./Button";
import { IconButton } from "./IconButton";
import { CheckIcon, CopyIcon } from "./icons";
import { announce } from "./LiveRegion";

/** Copies text; without a label it is only an icon. */
export function CopyButton({
  text,
  label,
  name,
}: {
  text: string | (() => string);
  label?: string;
  name?: string;
}) {
  const words = useWords("ui");
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    const done = await copyText(typeof text === "string" ? text : text());
    announce(done ? words.copied : words.copyFailed);
    setCopied(done);
    setTimeout(() => setCopied(false), 1500);
  };
  const icon = copied ? <CheckIcon /> : <CopyIcon />;
  return label ? (
    <Button small icon={icon} onClick={copy}>
      {label}
    </Button>
  ) : (
    <IconButton small label={name ?? words.copy} icon={icon} onClick={copy} />
  );
}
