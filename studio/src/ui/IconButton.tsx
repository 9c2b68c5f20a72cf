import type { ButtonProps } from "./Button";
import { Button } from "./Button";
import { Tooltip } from "./Tooltip";

/** A button that shows only an icon; its name is its label and its tooltip. */
export function IconButton({ label, icon, ...rest }: Omit<ButtonProps, "children"> & { label: string }) {
  return (
    <Tooltip text={label}>
      <Button
        tone="quiet"
        {...rest}
        aria-label={label}
        icon={icon}
        className={`${rest.small ? "size-7" : "size-8"} px-0! ${rest.className ?? ""}`}
      />
    </Tooltip>
  );
}
