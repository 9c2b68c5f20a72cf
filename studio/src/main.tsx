import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { followChoices } from "./app/follow";
import { loadWords } from "./i18n";
import { listenToKeys } from "./lib/keys";
import "./styles.css";

const root = document.getElementById("root");
if (root) {
  listenToKeys();
  followChoices();
  void loadWords().then(() =>
    createRoot(root).render(
      <StrictMode>
        <App />
      </StrictMode>,
    ),
  );
}
