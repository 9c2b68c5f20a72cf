import { SessionList } from "../features/sessions/SessionList";
import { SessionView } from "../features/sessions/SessionView";

/** Sessions, or one of them. */
export default function SessionsPage({ id }: { id?: string }) {
  return id ? <SessionView key={id} id={id} /> : <SessionList />;
}
