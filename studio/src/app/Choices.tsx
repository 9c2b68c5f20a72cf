import { LANGUAGES, setLanguage, useLanguage, useWords } from "../i18n";
import { useCommands } from "../lib/commands";
import { THEMES, useTheme } from "../lib/theme";
import { IconButton } from "../ui/IconButton";
import { ContrastIcon, GlobeIcon } from "../ui/icons";
import { Menu, MenuChoice } from "../ui/Menu";

/** The menus of language and colours, which are commands too. */
export function Choices() {
  const words = useWords("shell");
  const language = useLanguage();
  const [theme, setTheme] = useTheme();
  useCommands([
    ...LANGUAGES.map((one) => ({
      id: `language-${one.id}`,
      label: `${words.language}: ${one.name}`,
      icon: <GlobeIcon />,
      run: () => void setLanguage(one.id),
    })),
    ...THEMES.map((one) => ({
      id: `theme-${one}`,
      label: `${words.theme}: ${words.themes[one]}`,
      icon: <ContrastIcon />,
      run: () => setTheme(one),
    })),
  ]);
  return (
    <>
      <Menu label={words.language} trigger={<IconButton label={words.language} icon={<GlobeIcon />} />}>
        <MenuChoice
          value={language}
          options={LANGUAGES.map((one) => ({ value: one.id, label: one.name }))}
          onChange={(next) => void setLanguage(next)}
        />
      </Menu>
      <Menu label={words.theme} trigger={<IconButton label={words.theme} icon={<ContrastIcon />} />}>
        <MenuChoice
          value={theme}
          options={THEMES.map((one) => ({ value: one, label: words.themes[one] }))}
          onChange={setTheme}
        />
      </Menu>
    </>
  );
}
