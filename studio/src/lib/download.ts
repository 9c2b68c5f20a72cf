/** Offers text as a file to keep. */
export function downloadText(name: string, text: string, type = "text/plain"): void {
  saveBlob(name, new Blob([text], { type }));
}

/** Offers bytes as a file to keep. */
export function saveBlob(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
