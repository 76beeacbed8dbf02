import type { ITranslator } from '@jupyterlab/translation';

import type { Profile, Resources, Run, Site, Text } from '../src/api/types';
import type { Words } from '../src/i18n/words';
import { inLanguage } from '../src/i18n/language';

// Records as the server sends them; each test says what differs.

export function text(en: string, zh = en): Text {
  return { en, zh };
}

export const RESOURCES: Resources = {
  partition: 'gpu-a100',
  nodes: 1,
  gpus: 1,
  gpu_type: 'a100',
  cpus: 4,
  memory_mib: 4096,
  time_seconds: 7200,
  image: 'pytorch'
};

export function aRun(change: Partial<Run> = {}): Run {
  return {
    id: 'r1',
    name: 'train',
    mode: 'notebook',
    state: 'pending',
    job_id: '17',
    source: '/w/train.ipynb',
    folder: '/w/runs/r1',
    created_at: '2026-12-01T10:00:00+00:00',
    resources: RESOURCES,
    progress: null,
    attempts: 1,
    ...change
  };
}

export function aProfile(change: Partial<Profile> = {}): Profile {
  return {
    id: 'a100-1',
    title: text('1 x A100', '1 块 A100'),
    description: text('One GPU'),
    image: 'pytorch',
    partition: 'gpu-a100',
    gpus: 1,
    gpu_type: 'a100',
    cpus: 4,
    memory: '4G',
    time: '2:00:00',
    nodes: 1,
    allow: {},
    for_runs: true,
    for_sessions: true,
    ...change
  };
}

export function aSite(change: Partial<Site> = {}): Site {
  return {
    api_version: '1',
    siflab_version: '0.1.0',
    name: 'demo',
    title: text('Demo'),
    user: 'user1',
    images: [{ id: 'pytorch', title: text('PyTorch'), current: true }],
    profiles: [aProfile()],
    binds: [],
    runs_root: '/w/runs',
    server_root: '/w',
    default_profile: null,
    can_submit: true,
    timezone: 'UTC',
    ...change
  };
}

/** English words without a catalogue: `%1` is filled in as Lab does it. */
export function someWords(language: 'en' | 'zh' = 'en'): Words {
  const fill = (message: string, ...values: unknown[]) =>
    message.replace(/%(\d)/g, (_, digit: string) => String(values[Number(digit) - 1]));
  const trans = {
    __: fill,
    _n: (one: string, many: string, n: number, ...rest: unknown[]) =>
      fill(n === 1 ? one : many, n, ...rest)
  } as unknown as ReturnType<ITranslator['load']>;
  return {
    trans,
    language,
    locale: language === 'zh' ? 'zh-CN' : 'en',
    say: message => (message ? inLanguage(message, language) : '')
  };
}
