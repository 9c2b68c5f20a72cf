/** Saves what stands at an address: the browser does it itself, unless a key has to be sent with the request. */
export async function downloadFrom(
  address: string,
  name: string,
  fetchBlob: ((address: string) => Promise<Blob>) | null,
): Promise<void> {
  if (fetchBlob === null) {
    clickLink(address, name);
    return;
  }
  const here = URL.createObjectURL(await fetchBlob(address));
  clickLink(here, name);
  setTimeout(() => URL.revokeObjectURL(here), 60_000);
}

function clickLink(address: string, name: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}
