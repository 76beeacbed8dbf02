import type { Text } from '../api/types';

/** The languages that messages of the server come in. */
export type Language = keyof Text;

/** The server's language for a locale such as `zh_CN`, `zh-Hans` or `en`. */
export function languageOf(locale: string): Language {
  return /^zh\b|^zh[_-]/i.test(locale) ? 'zh' : 'en';
}

/** A message that the server words as a part of a sentence, as it stands alone. */
export function alone(message: string): string {
  return message.charAt(0).toLocaleUpperCase() + message.slice(1);
}

/** A message of the server in one language. */
export function inLanguage(text: Text, language: Language): string {
  return text[language] || text.en;
}
