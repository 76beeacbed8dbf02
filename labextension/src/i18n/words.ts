import type { ITranslator, TranslationBundle } from '@jupyterlab/translation';

import type { Text } from '../api/types';
import { inLanguage, languageOf } from './language';
import type { Language } from './language';

/** The translation domain; the catalogue is `locale/<locale>/siflab.po`. */
export const DOMAIN = 'siflab';

/** All that turns things into words for a person: our own texts, the server's, numbers and times. */
export interface Words {
  trans: TranslationBundle;
  language: Language;
  /** For `Intl`, e.g. `zh-CN`. */
  locale: string;
  /** A message of the server; empty for none. */
  say: (text: Text | null | undefined) => string;
}

export function wordsOf(translator: ITranslator): Words {
  const code = translator.languageCode.replace(/_/g, '-');
  const language = languageOf(code);
  return {
    trans: translator.load(DOMAIN),
    language,
    locale: isLocale(code) ? code : 'en',
    say: text => (text ? inLanguage(text, language) : '')
  };
}

/** Lab's pseudo language `ach_UG` and `default` are not what `Intl` takes. */
function isLocale(code: string): boolean {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf([code]).length > 0;
  } catch {
    return false;
  }
}
