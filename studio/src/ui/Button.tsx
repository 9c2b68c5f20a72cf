import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import { classes } from "../lib/classes";
import { Spinner } from "./Spinner";

/** How much a button stands out; `danger` ends or removes something. */
export type ButtonTone = "plain" | "primary" | "danger" | "quiet";

const TONES: Record<ButtonTone, string> = {
  plain: "border border-line-strong bg-surface text-text hover:bg-sunken",
  primary: "border border-transparent bg-accent-strong text-on-accent hover:brightness-110",
  danger: "border border-bad bg-surface text-bad hover:bg-bad-soft",
  quiet: "border border-transparent text-text hover:bg-sunken",
};

/** What a button takes besides what every button has. */
export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  tone?: ButtonTone;
  small?: boolean;
  busy?: boolean;
  icon?: ReactNode;
  ref?: Ref<HTMLButtonElement>;
}

/** A button; a busy one shows so and takes no click, but keeps the focus. */
export function Button({
  tone = "plain",
  small,
  busy,
  icon,
  children,
  className,
  onClick,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      onClick={busy ? (event) => event.preventDefault() : onClick}
      aria-busy={busy || undefined}
      aria-disabled={busy || rest["aria-disabled"]}
      className={classes(
        "inline-flex items-center justify-center gap-1.5 rounded-md font-medium disabled:cursor-not-allowed disabled:opacity-55",
        small ? "min-h-7 px-2 text-xs" : "min-h-8 px-3 text-sm",
        TONES[tone],
        className,
      )}
    >
      {busy ? <Spinner /> : icon}
      {children}
    </button>
  );
}
