import type { ReactNode } from "react";

/** What every icon takes; without a label it is decoration. */
export interface IconProps {
  label?: string;
  className?: string;
}

function icon(paths: ReactNode) {
  return function Icon({ label, className }: IconProps) {
    const shared = {
      viewBox: "0 0 16 16",
      className: className ?? "size-4 shrink-0",
      fill: "none",
      stroke: "currentColor",
      strokeWidth: 1.6,
      strokeLinecap: "round",
      strokeLinejoin: "round",
    } as const;
    return label ? (
      <svg {...shared} role="img" aria-label={label}>
        {paths}
      </svg>
    ) : (
      <svg {...shared} aria-hidden="true">
        {paths}
      </svg>
    );
  };
}

/** A mark for what is done. */
export const CheckIcon = icon(<path d="M3 8.5 6.5 12 13 4.5" />);
/** A mark for what failed or closes. */
export const CrossIcon = icon(<path d="m4 4 8 8M12 4l-8 8" />);
/** A disc with a check. */
export const DoneIcon = icon(
  <>
    <circle cx="8" cy="8" r="6.2" />
    <path d="m5.2 8.2 2 2 3.6-4.2" />
  </>,
);
/** A disc with a cross. */
export const FailedIcon = icon(
  <>
    <circle cx="8" cy="8" r="6.2" />
    <path d="m5.8 5.8 4.4 4.4M10.2 5.8l-4.4 4.4" />
  </>,
);
/** A disc with a bar: stopped. */
export const StoppedIcon = icon(
  <>
    <circle cx="8" cy="8" r="6.2" />
    <path d="M4.8 8h6.4" />
  </>,
);
/** An empty disc: not begun. */
export const PendingIcon = icon(<circle cx="8" cy="8" r="6.2" strokeDasharray="2.4 2.4" />);
/** A triangle that plays. */
export const PlayIcon = icon(<path d="M5 3.2v9.6L12.6 8z" />);
/** Two bars that pause. */
export const PauseIcon = icon(<path d="M5.5 3.5v9M10.5 3.5v9" />);
/** A hand: a person is needed. */
export const HandIcon = icon(
  <path d="M4.5 8.5V5a1 1 0 0 1 2 0v2-4a1 1 0 0 1 2 0v4-3.300a1 1 0 0 1 2 0V7.500V6a1 1 0 0 1 2 0v4a4 4 0 0 1-4 4h-.8a4 4 0 0 1-3.3-1.800L2.6 9.800a1 1 0 0 1 1.6-1.200z" />,
);
/** A triangle that warns. */
export const WarnIcon = icon(
  <>
    <path d="M8 2.2 14.5 13.500h-13z" />
    <path d="M8 6.500v3M8 11.600v.1" />
  </>,
);
/** An `i` in a disc. */
export const InfoIcon = icon(
  <>
    <circle cx="8" cy="8" r="6.2" />
    <path d="M8 7.300v3.700M8 5v.1" />
  </>,
);
/** A question mark in a disc. */
export const HelpIcon = icon(
  <>
    <circle cx="8" cy="8" r="6.2" />
    <path d="M6.2 6.300a1.9 1.9 0 1 1 2.7 1.700c-.6.3-.9.6-.9 1.200M8 11.500v.1" />
  </>,
);
/** A magnifying glass. */
export const SearchIcon = icon(
  <>
    <circle cx="7" cy="7" r="4.3" />
    <path d="m10.3 10.3 3.5 3.5" />
  </>,
);
/** Two sheets. */
export const CopyIcon = icon(
  <>
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
    <path d="M3.5 10.500h-1v-8h8v1" />
  </>,
);
/** An arrow to a tray. */
export const DownloadIcon = icon(<path d="M8 2.500v7M5 7l3 3 3-3M2.8 12.800h10.4" />);
/** An arrow from a tray. */
export const UploadIcon = icon(<path d="M8 10V3M5 5.500l3-3 3 3M2.8 12.800h10.4" />);
/** A plus. */
export const PlusIcon = icon(<path d="M8 3v10M3 8h10" />);
/** A minus. */
export const MinusIcon = icon(<path d="M3 8h10" />);
/** A sheet of paper. */
export const FileIcon = icon(<path d="M9.5 1.800h-6v12.400h9V4.800zM9.5 1.800v3h3" />);
/** A folder. */
export const FolderIcon = icon(<path d="M1.8 3.500h4.500l1.5 1.800h6.400v7.500H1.800z" />);
/** Two ways from one. */
export const ForkIcon = icon(
  <>
    <circle cx="4" cy="3.5" r="1.5" />
    <circle cx="12" cy="3.5" r="1.5" />
    <circle cx="8" cy="12.5" r="1.5" />
    <path d="M4 5v1.500c0 1.5 4 1.5 4 3V11M12 5v1.500c0 1.5-4 1.5-4 3" />
  </>,
);
/** An arrow that goes round. */
export const RetryIcon = icon(<path d="M13 8a5 5 0 1 1-1.7-3.750M13.2 2v3h-3" />);
/** A wrench: a tool. */
export const ToolIcon = icon(
  <path d="M13.5 4.500a3.2 3.2 0 0 1-4.3 3.900L4.7 13 3 11.300l4.6-4.500a3.2 3.2 0 0 1 3.9-4.300L9.6 4.400l2 2z" />,
);
/** A speech bubble. */
export const MessageIcon = icon(<path d="M2 3h12v8H7.500L4.5 13.500V11H2z" />);
/** A spark: the model. */
export const ModelIcon = icon(<path d="M8 1.8 9.6 6.4 14.2 8 9.6 9.6 8 14.2 6.4 9.6 1.8 8l4.6-1.600z" />);
/** A person. */
export const PersonIcon = icon(
  <>
    <circle cx="8" cy="5" r="2.7" />
    <path d="M2.8 13.800c.6-3 2.7-4.3 5.2-4.300s4.6 1.3 5.2 4.3" />
  </>,
);
/** A shield: the sandbox. */
export const ShieldIcon = icon(
  <path d="M8 1.8 13.2 3.500V8c0 3-2.2 5.2-5.2 6.200C5 13.2 2.8 11 2.8 8V3.500z" />,
);
/** A book: a skill. */
export const BookIcon = icon(
  <path d="M2.5 3h4c1 0 1.5.6 1.5 1.300V13c0-.7-.6-1.2-1.5-1.200h-4zM13.5 3h-4C8.5 3 8 3.6 8 4.300V13c0-.7.6-1.2 1.5-1.200h4z" />,
);
/** A list. */
export const ListIcon = icon(<path d="M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4v.1M2.5 8v.1M2.5 12v.1" />);
/** Layers: sessions. */
export const LayersIcon = icon(<path d="M8 2 14 5 8 8 2 5zM2 8l6 3 6-3M2 11l6 3 6-3" />);
/** A cog made of lines. */
export const CogIcon = icon(
  <>
    <circle cx="8" cy="8" r="2.2" />
    <path d="M8 1.800v2M8 12.200v2M1.8 8h2M12.2 8h2M3.6 3.6 5 5M11 11l1.4 1.400M12.4 3.6 11 5M5 11l-1.4 1.4" />
  </>,
);
/** A globe: languages. */
export const GlobeIcon = icon(
  <>
    <circle cx="8" cy="8" r="6.2" />
    <path d="M1.8 8h12.400M8 1.800c2 2 2.6 4 2.6 6.200S10 12.2 8 14.200C6 12.2 5.4 10.2 5.4 8S6 3.8 8 1.800z" />
  </>,
);
/** A disc, half of it dark: colours. */
export const ContrastIcon = icon(
  <>
    <circle cx="8" cy="8" r="6.2" />
    <path d="M8 1.800v12.400M8 4.500c3 .5 3 6.5 0 7" fill="currentColor" />
  </>,
);
/** A keyboard. */
export const KeyboardIcon = icon(
  <>
    <rect x="1.5" y="4" width="13" height="8.5" rx="1.5" />
    <path d="M4 6.700v.1M6.7 6.700v.1M9.3 6.700v.1M12 6.700v.1M5 9.800h6" />
  </>,
);
/** A pointer to the right. */
export const ChevronRightIcon = icon(<path d="m6 3.5 4.5 4.500L6 12.5" />);
/** A pointer down. */
export const ChevronDownIcon = icon(<path d="m3.5 6 4.5 4.500L12.5 6" />);
/** Three dots. */
export const MoreIcon = icon(<path d="M3.5 8v.1M8 8v.1M12.5 8v.1" strokeWidth={2.4} />);
/** A clock. */
export const ClockIcon = icon(
  <>
    <circle cx="8" cy="8" r="6.2" />
    <path d="M8 4.500V8l2.3 1.5" />
  </>,
);
/** A link out of the page. */
export const OutsideIcon = icon(<path d="M9.5 2.500h4v4M13.5 2.5 7.5 8.500M11.5 9.500v4h-9v-9h4" />);
/** A pencil. */
export const EditIcon = icon(<path d="m10.8 2.6 2.6 2.6-7.8 7.8-3.2.6.6-3.200z" />);
/** A bin. */
export const DeleteIcon = icon(<path d="M2.5 4.200h11M6 4V2.500h4V4M4 4.500l.6 9h6.800l.6-9" />);
/** A key. */
export const KeyIcon = icon(
  <>
    <circle cx="5" cy="11" r="2.7" />
    <path d="m7 9 6-6M11 5l2 2" />
  </>,
);
