/** Texts of the files of a run. */
export const artifacts = {
  none: "No files",
  noneYet: "The run has not produced any file yet.",
  noneEver: "This run produced no files.",
  notFinal: "The run is still working: files may change.",
  roles: {
    deliverable: "Deliverables",
    workspace: "Workspace",
    archive: "Archive",
    execution: "Skill executions",
  } as Record<string, string>,
  choose: "Choose a file to preview it.",
  more: (count: number) => `Show ${count} more`,
  previewOf: (name: string) => `Preview of ${name}`,
  imageOf: (name: string) => `Image ${name}`,
  hash: "SHA-256",
  copyHash: "Copy the hash",
  download: "Download",
  downloadFile: (name: string) => `Download ${name}`,
  notSaved: "Could not download the file",
  tooLarge: (size: string, most: string) =>
    `Too large to preview (${size}, limit ${most}). Download it instead.`,
  beginning: (shown: string, size: string) => `The first ${shown} of ${size}; download it to see the rest.`,
  firstRows: (count: string) => `The first ${count} rows; download the file to see the rest.`,
  emptyFile: "The file is empty.",
  noPreview: (type: string) => `Files of type ${type} can only be downloaded.`,
  brokenImage: "The browser cannot show this image.",
  needsLink:
    "With an API key such files can only be downloaded; open Studio with its link to preview them here.",
  inert: "Shown in isolation: no scripts, no network, no access to this page.",
  inertPdf: "Shown in the browser's viewer.",
};
