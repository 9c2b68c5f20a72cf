import { LANGUAGES, setLanguage, useLanguage, useWords } from "../i18n";
import { useCommands } from "../lib/commands";
import { THEMES, useTheme } from "../lib/theme";
import { IconButton } from "../ui/IconButton";
import { ContrastIcon, GlobeIcon } from "../ui/icons";
import { Menu, MenuChoice } from "../ui/Menu";

/** The menus of language and colours, which are commands too. */
export function PreferenceMenus() {
  const words = useWords("shell");
  const language = useLanguage();
  const [theme, setTheme] = useTheme();
  useCommands([
    ...LANGUAGES.map((language) => ({
      id: `language-${language.id}`,
      label: `${words.language}: ${language.name}`,
      icon: <GlobeIcon />,
      run: () => void setLanguage(language.id),
    })),
    ...THEMES.map((theme) => ({
      id: `theme-${theme}`,
      label: `${words.theme}: ${words.themes[theme]}`,
      icon: <ContrastIcon />,
      run: () => setTheme(theme),
    })),
  ]);
  return (
    <>
      <Menu label={words.language} trigger={<IconButton label={words.language} icon={<GlobeIcon />} />}>
        <MenuChoice
          value={language}
          options={LANGUAGES.map((language) => ({ value: language.id, label: language.name }))}
          onChange={(next) => void setLanguage(next)}
        />
      </Menu>
      <Menu label={words.theme} trigger={<IconButton label={words.theme} icon={<ContrastIcon />} />}>
        <MenuChoice
          value={theme}
          options={THEMES.map((theme) => ({ value: theme, label: words.themes[theme] }))}
          onChange={setTheme}
        />
      </Menu>
    </>
  );
}
