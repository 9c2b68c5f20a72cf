import { Welcome } from "../features/welcome/Welcome";

/** The first visit. */
export default function WelcomeRoute() {
  return <Welcome />;
}
