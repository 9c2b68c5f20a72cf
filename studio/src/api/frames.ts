/** One message of a stream of server-sent events. */
export interface Frame {
  id: string;
  data: string;
}

/** Splits a stream of text into messages, wherever its chunks end. */
export class FrameReader {
  private rest = "";
  private id = "";
  private data: string[] = [];

  /** The messages that are complete with this piece. */
  push(piece: string): Frame[] {
    const lines = (this.rest + piece).split("\n");
    this.rest = lines.pop() ?? "";
    const frames: Frame[] = [];
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line !== "") {
        this.field(line);
      } else if (this.data.length > 0) {
        frames.push({ id: this.id, data: this.data.join("\n") });
        this.data = [];
      }
    }
    return frames;
  }

  private field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") {
      this.data.push(value);
    } else if (name === "id") {
      this.id = value;
    }
  }
}

/** Passes each message of a response to the callback; aborts a stream that is silent for too long. */
export async function readFrames(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  timeoutMs: number,
  abort: AbortController,
  push: (frame: Frame) => void,
): Promise<void> {
  const frames = new FrameReader();
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let silence = setTimeout(() => abort.abort(), timeoutMs);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      clearTimeout(silence);
      if (done) {
        return;
      }
      silence = setTimeout(() => abort.abort(), timeoutMs);
      for (const frame of frames.push(value)) {
        push(frame);
      }
    }
  } finally {
    clearTimeout(silence);
  }
}
