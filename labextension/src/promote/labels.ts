import type { Parameter, Profile, Resources } from '../api/types';
import { duration } from '../i18n/time';
import type { Words } from '../i18n/words';
import { formatMemory } from '../slurm/memory';
import type { Field, FieldName, Problem } from './fields';
import { measure, showLimit } from './fields';
import type { Mode } from './options';

/** The name of a field, as it stands before it. */
export function fieldLabel(name: FieldName, profile: Profile, words: Words): string {
  const { trans } = words;
  const perNode = profile.nodes > 1 || profile.allow.nodes !== undefined;
  switch (name) {
    case 'nodes':
      return trans.__('Nodes');
    case 'gpus':
      return perNode ? trans.__('GPUs per node') : trans.__('GPUs');
    case 'cpus':
      return perNode ? trans.__('CPU cores per node') : trans.__('CPU cores');
    case 'memory':
      return perNode ? trans.__('Memory per node') : trans.__('Memory');
    case 'time':
      return trans.__('Time limit');
    case 'image':
      return trans.__('Image');
  }
}

/** What may be typed into a field, and what the present value means. */
export function fieldHint(field: Field, value: string, words: Words): string {
  const { trans } = words;
  const parts: string[] = [];
  if (field.kind === 'time') {
    const seconds = measure('time', value);
    if (seconds !== null) {
      parts.push(trans.__('= %1', duration(seconds, words)));
    } else {
      parts.push(trans.__('hours:minutes:seconds'));
    }
  }
  const min = field.min === null ? null : showLimit(field.kind, field.min);
  const max = field.max === null ? null : showLimit(field.kind, field.max);
  if (min !== null && max !== null) {
    parts.push(trans.__('%1 to %2', min, max));
  } else if (max !== null) {
    parts.push(trans.__('at most %1', max));
  } else if (min !== null) {
    parts.push(trans.__('at least %1', min));
  }
  return parts.join(' · ');
}

/** What is wrong with a value, and what would be right. */
export function problemText(problem: Problem, words: Words): string {
  const { trans } = words;
  switch (problem.code) {
    case 'empty':
      return trans.__('A value is needed here.');
    case 'not-an-integer':
      return trans.__('This must be a whole number, such as 4.');
    case 'not-memory':
      return trans.__('This must be an amount of memory, such as 16G or 1500M.');
    case 'not-time':
      return trans.__(
        'This must be a time, such as 2:00:00 (hours:minutes:seconds) or 1-00:00:00.'
      );
    case 'not-a-choice':
      return trans.__('The profile does not offer this value.');
    case 'open-quote':
      return trans.__('A quotation mark is not closed.');
    case 'too-small':
      return trans.__('The profile asks for at least %1.', problem.limit);
    case 'too-large':
      return trans.__('The profile allows at most %1.', problem.limit);
  }
}

/** Resources in a line: `2 × a100 · 8 CPU cores · 32G · 2 h`. */
export function resourcesText(resources: Resources, words: Words): string {
  const { trans } = words;
  const parts: string[] = [];
  if (resources.nodes > 1) {
    parts.push(trans._n('%1 node', '%1 nodes', resources.nodes));
  }
  if (resources.gpus > 0) {
    parts.push(`${resources.gpus} × ${resources.gpu_type ?? trans.__('GPU')}`);
  }
  parts.push(trans._n('%1 CPU core', '%1 CPU cores', resources.cpus));
  parts.push(formatMemory(resources.memory_mib));
  parts.push(trans.__('limit %1', duration(resources.time_seconds, words)));
  return parts.join(' · ');
}

export function modeLabel(mode: Mode, words: Words): string {
  const { trans } = words;
  switch (mode) {
    case 'notebook':
      return trans.__('One process');
    case 'distributed':
      return trans.__('Distributed: torchrun on every node');
    case 'sweep':
      return trans.__('Sweep: one run for each set of parameters');
  }
}

/** What a parameter takes, and what its notebook says of it. */
export function parameterHint(parameter: Parameter, words: Words): string {
  const { trans } = words;
  const kinds: Record<Parameter['kind'], string> = {
    int: trans.__('whole number'),
    float: trans.__('number'),
    bool: trans.__('true or false'),
    str: trans.__('text'),
    list: trans.__('list'),
    dict: trans.__('mapping'),
    any: ''
  };
  return [kinds[parameter.kind], parameter.help].filter(part => part !== '').join(' · ');
}
