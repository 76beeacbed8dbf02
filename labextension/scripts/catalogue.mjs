/**
 * The translations: `update` takes the texts out of the sources into the .po files, `check` fails on a text that is not
 * translated or no longer used, `compile` makes the JSON files that jupyterlab_server reads (entry point
 * `jupyterlab.locale`, see its translation_utils.py).
 *
 * A .po file is the usual gettext catalogue: Poedit, Weblate and the like edit it.
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { GettextExtractor, JsExtractors } from 'gettext-extractor';
import { po } from 'gettext-parser';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const DOMAIN = 'siflab';
const OUTPUT = join(ROOT, '..', 'extension', 'siflab_extension', 'locale');

/** The plural rule of each language that we have, as gettext writes it. */
const PLURALS = { zh_CN: 'nplurals=1; plural=0;' };

/** All texts of the sources and the settings schema: [{context, id, plural, references}]. */
export function extract(root = ROOT) {
  const extractor = new GettextExtractor();
  const call = (name, argumentsOf) =>
    JsExtractors.callExpression([name, `[this].${name}`, `words.${name}`], {
      arguments: argumentsOf
    });
  extractor
    .createJsParser([
      call('trans.__', { text: 0 }),
      call('trans._n', { text: 0, textPlural: 1 }),
      call('trans._p', { context: 0, text: 1 })
    ])
    .parseFilesGlob('src/**/*.@(ts|tsx)', { cwd: root, absolute: false });
  const messages = extractor.getMessages().map(message => ({
    context: message.context ?? '',
    id: message.text,
    plural: message.textPlural,
    references: message.references
  }));
  return [...messages, ...schemaTexts(root)].sort(byPlace);
}

/** The texts of schema/*.json that Lab translates, with Lab's contexts (DEFAULT_SCHEMA_SELECTORS). */
function schemaTexts(root) {
  const texts = [];
  for (const file of readdirSync(join(root, 'schema')).filter(name => name.endsWith('.json'))) {
    const schema = JSON.parse(readFileSync(join(root, 'schema', file), 'utf8'));
    const add = (context, id) =>
      id && texts.push({ context, id, plural: undefined, references: [`schema/${file}`] });
    add('schema', schema.title);
    add('schema', schema.description);
    add('settings', schema['jupyter.lab.setting-icon-label']);
    for (const property of Object.values(schema.properties ?? {})) {
      add('settings', property.title);
      add('settings', property.description);
    }
  }
  return texts;
}

function byPlace(a, b) {
  const place = message => `${message.references[0] ?? ''} ${message.context} ${message.id}`;
  return place(a).localeCompare(place(b), 'en', { numeric: true });
}

export function locales(root = ROOT) {
  return readdirSync(join(root, 'locale'));
}

function fileOf(root, locale) {
  return join(root, 'locale', locale, `${DOMAIN}.po`);
}

function read(root, locale) {
  return po.parse(readFileSync(fileOf(root, locale)));
}

/** What is wrong with one language's catalogue, each a line for a person. */
export function faults(locale, root = ROOT) {
  const { translations } = read(root, locale);
  const lines = [];
  const wanted = new Set();
  for (const { context, id, plural, references } of extract(root)) {
    wanted.add(`${context}\u0004${id}`);
    const entry = translations[context]?.[id];
    const said = entry?.msgstr ?? [];
    if (said.length === 0 || said.some(text => text === '')) {
      lines.push(`${locale}: not translated: "${id}" (${references.join(', ')})`);
      continue;
    }
    for (const text of said) {
      const missing = (id.match(/%\d/g) ?? []).filter(
        mark => !text.includes(mark) && !(plural && mark === '%1')
      );
      if (missing.length > 0) {
        lines.push(`${locale}: ${missing.join(', ')} is missing in "${text}" for "${id}"`);
      }
    }
  }
  for (const [context, entries] of Object.entries(translations)) {
    for (const id of Object.keys(entries)) {
      if (id !== '' && !wanted.has(`${context}\u0004${id}`)) {
        lines.push(`${locale}: no longer used: "${id}"`);
      }
    }
  }
  return lines;
}

/** Bring a catalogue up to the sources: new texts come in empty, unused ones go. */
function update(locale) {
  let old = {};
  let headers = {};
  try {
    ({ translations: old, headers } = read(ROOT, locale));
  } catch {
    // A new language begins empty.
  }
  const translations = { '': {} };
  for (const { context, id, plural, references } of extract()) {
    translations[context] ??= {};
    translations[context][id] = {
      msgctxt: context || undefined,
      msgid: id,
      msgid_plural: plural,
      msgstr: old[context]?.[id]?.msgstr ?? [''],
      // Files without line numbers: a change elsewhere in the file changes nothing here.
      comments: {
        reference: [...new Set(references.map(place => place.replace(/:\d+$/, '')))].join('\n')
      }
    };
  }
  const catalogue = {
    charset: 'utf-8',
    headers: {
      ...headers,
      'Project-Id-Version': DOMAIN,
      Language: locale,
      'MIME-Version': '1.0',
      'Content-Type': 'text/plain; charset=UTF-8',
      'Content-Transfer-Encoding': '8bit',
      'Plural-Forms': PLURALS[locale] ?? 'nplurals=2; plural=(n != 1);'
    },
    translations
  };
  mkdirSync(dirname(fileOf(ROOT, locale)), { recursive: true });
  writeFileSync(
    fileOf(ROOT, locale),
    `${po.compile(catalogue, { foldLength: 0 })}\n`.replace(/\n+$/, '\n')
  );
}

/** Write a catalogue in the form that Lab loads: {"": {...}, "context\u0004text": ["translation"]}. */
function compile(locale) {
  const { translations } = read(ROOT, locale);
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const catalogue = {
    // Lab compares it with its own language code, which has a hyphen.
    '': {
      domain: DOMAIN,
      language: locale.replace('_', '-'),
      plural_forms: PLURALS[locale],
      version
    }
  };
  for (const [context, entries] of Object.entries(translations)) {
    for (const [id, entry] of Object.entries(entries)) {
      if (id !== '') {
        // Lab takes a plural entry of one form for a singular one (gettext.ts, dcnpgettext): it gets the form twice.
        const forms = entry.msgstr;
        catalogue[context ? `${context}\u0004${id}` : id] =
          entry.msgid_plural && forms.length === 1 ? [forms[0], forms[0]] : forms;
      }
    }
  }
  const folder = join(OUTPUT, locale, 'LC_MESSAGES');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${DOMAIN}.json`), `${JSON.stringify(catalogue, null, 1)}\n`);
}

function main(command) {
  switch (command) {
    case 'update':
      locales().forEach(update);
      return 0;
    case 'compile':
      locales().forEach(compile);
      return 0;
    case 'check': {
      const lines = locales().flatMap(locale => faults(locale));
      lines.forEach(line => console.error(line));
      if (lines.length > 0) {
        console.error(
          'Translate them in locale/*/siflab.po; "npm run i18n" brings new texts there.'
        );
      }
      return lines.length > 0 ? 1 : 0;
    }
    default:
      console.error('catalogue.mjs update | check | compile');
      return 2;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exitCode = main(process.argv[2]);
}
