import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { syncPreferences } from "./app/syncPreferences";
import { loadWords } from "./i18n";
import { listenToKeys } from "./lib/keys";
import "./styles.css";

const root = document.getElementById("root");
if (root) {
  listenToKeys();
  syncPreferences();
  void loadWords().then(() =>
    createRoot(root).render(
      <StrictMode>
        <App />
      </StrictMode>,
    ),
  );
}
