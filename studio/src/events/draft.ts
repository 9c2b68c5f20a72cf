import type { TranscriptItem } from "./items";
import type { LogEvent } from "./types";
import type { Places, RunState, RunView, Span } from "./view";

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
  coming: number[];
  purpose: string;
  answers: number;
  plan: RunView["plan"];
  skills: readonly string[];

  constructor(view: RunView) {
    const { places } = view;
    this.state = { ...view.state };
    this.items = [...view.items];
    this.spans = [...view.spans];
    this.calls = new Map(places.calls);
    this.approvals = new Map(places.approvals);
    this.questions = new Map(places.questions);
    this.children = new Map(places.children);
    this.openSpans = new Map(places.openSpans);
    this.coming = [...places.coming];
    this.purpose = places.purpose;
    this.answers = places.answers;
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
    place: number | undefined,
    kind: Kind,
  ): Extract<TranscriptItem, { kind: Kind }> | undefined {
    const item = place === undefined ? undefined : this.items[place];
    return item?.kind === kind ? (item as Extract<TranscriptItem, { kind: Kind }>) : undefined;
  }

  /** Replaces an item by one that an event changed; nothing where it is not of the kind. */
  change<Kind extends TranscriptItem["kind"]>(
    place: number | undefined,
    kind: Kind,
    event: LogEvent,
    changes: (
      item: Extract<TranscriptItem, { kind: Kind }>,
    ) => Partial<Extract<TranscriptItem, { kind: Kind }>>,
  ): void {
    const item = this.at(place, kind);
    if (item && place !== undefined) {
      this.items[place] = Object.assign({ ...item }, changes(item), {
        last_seq: event.seq,
      }) as TranscriptItem;
    }
  }

  /** Where the call with an id stands; what a call asks besides is called `id#something`. */
  callPlace(callId: string | null | undefined): number | undefined {
    return callId ? (this.calls.get(callId) ?? this.calls.get(callId.split("#")[0] ?? "")) : undefined;
  }

  /** The finished view. */
  view(): RunView {
    const places: Places = {
      calls: this.calls,
      approvals: this.approvals,
      questions: this.questions,
      children: this.children,
      openSpans: this.openSpans,
      coming: this.coming,
      purpose: this.purpose,
      answers: this.answers,
    };
    return {
      state: this.state,
      items: this.items,
      spans: this.spans,
      approvals: [...this.approvals].flatMap(([id, place]) => this.approvalAt(id, place)),
      questions: [...this.questions.values()].flatMap((place) => this.at(place, "question") ?? []),
      plan: this.plan,
      skills: this.skills,
      places,
    };
  }

  private approvalAt(id: string, place: number) {
    const item = this.items[place];
    if (item?.kind === "approval") {
      return [item.approval];
    }
    return item?.kind === "call" ? item.approvals.filter((one) => one.approval_id === id).slice(-1) : [];
  }
}
