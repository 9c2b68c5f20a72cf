import type { TranscriptItem } from "./items";
import type { LogEvent } from "./types";
import type { ItemIndexes, RunState, RunView, Span } from "./view";

/** What every item has; an item without them is completed by the draft. */
type Base = "key" | "seq" | "last_seq" | "at" | "turn_id" | "step_id";
type WithoutBase<Item> = Item extends TranscriptItem ? Omit<Item, Base> : never;

/** A view while it takes in events: the lists are its own copies, the items in them are replaced and never changed. */
export class Draft {
  readonly state: RunState;
  readonly items: TranscriptItem[];
  readonly spans: Span[];
  readonly calls: Map<string, number>;
  readonly approvals: Map<string, number>;
  readonly questions: Map<string, number>;
  readonly children: Map<string, number>;
  readonly openSpans: Map<string, number>;
  streaming: number[];
  purpose: string;
  answers: number;
  plan: RunView["plan"];
  skills: readonly string[];

  constructor(view: RunView) {
    const { indexes } = view;
    this.state = { ...view.state };
    this.items = [...view.items];
    this.spans = [...view.spans];
    this.calls = new Map(indexes.calls);
    this.approvals = new Map(indexes.approvals);
    this.questions = new Map(indexes.questions);
    this.children = new Map(indexes.children);
    this.openSpans = new Map(indexes.openSpans);
    this.streaming = [...indexes.streaming];
    this.purpose = indexes.purpose;
    this.answers = indexes.answers;
    this.plan = view.plan;
    this.skills = view.skills;
  }

  /** Adds an item that an event began, and says where it stands. */
  add(event: LogEvent, item: WithoutBase<TranscriptItem>): number {
    const base = {
      key: `${event.seq}-${item.kind}`,
      seq: event.seq,
      last_seq: event.seq,
      at: event.timestamp,
      turn_id: event.turn_id ?? null,
      step_id: event.step_id ?? null,
    };
    // Spreading two objects into a third would make a slow one of it.
    this.items.push(Object.assign(base, item) as TranscriptItem);
    return this.items.length - 1;
  }

  /** The item at a place, if it is of a kind. */
  at<Kind extends TranscriptItem["kind"]>(
    index: number | undefined,
    kind: Kind,
  ): Extract<TranscriptItem, { kind: Kind }> | undefined {
    const item = index === undefined ? undefined : this.items[index];
    return item?.kind === kind ? (item as Extract<TranscriptItem, { kind: Kind }>) : undefined;
  }

  /** Replaces an item by one that an event changed; nothing where it is not of the kind. */
  change<Kind extends TranscriptItem["kind"]>(
    index: number | undefined,
    kind: Kind,
    event: LogEvent,
    changes: (
      item: Extract<TranscriptItem, { kind: Kind }>,
    ) => Partial<Extract<TranscriptItem, { kind: Kind }>>,
  ): void {
    const item = this.at(index, kind);
    if (item && index !== undefined) {
      this.items[index] = Object.assign({ ...item }, changes(item), {
        last_seq: event.seq,
      }) as TranscriptItem;
    }
  }

  /** Where the call with an id stands; what a call asks besides is called `id#something`. */
  findCallIndex(callId: string | null | undefined): number | undefined {
    return callId ? (this.calls.get(callId) ?? this.calls.get(callId.split("#")[0] ?? "")) : undefined;
  }

  /** The finished view. */
  view(): RunView {
    const indexes: ItemIndexes = {
      calls: this.calls,
      approvals: this.approvals,
      questions: this.questions,
      children: this.children,
      openSpans: this.openSpans,
      streaming: this.streaming,
      purpose: this.purpose,
      answers: this.answers,
    };
    return {
      state: this.state,
      items: this.items,
      spans: this.spans,
      approvals: [...this.approvals].flatMap(([id, index]) => this.findApproval(id, index)),
      questions: [...this.questions.values()].flatMap((index) => this.at(index, "question") ?? []),
      plan: this.plan,
      skills: this.skills,
      indexes,
    };
  }

  private findApproval(id: string, index: number) {
    const item = this.items[index];
    if (item?.kind === "approval") {
      return [item.approval];
    }
    return item?.kind === "call"
      ? item.approvals.filter((approval) => approval.approval_id === id).slice(-1)
      : [];
  }
}
