import * as React from 'react';

import type { Words } from '../i18n/words';
import { SelectField, TextAreaField, TextField } from './field';
import { modeLabel, parameterHint, problemText } from './labels';
import type { Promotion } from './model';
import type { Mode, OptionName } from './options';
import { MODES, pointCount, presetOf } from './options';
import { isAt } from './refusal';

interface PartProps {
  promotion: Promotion;
  words: Words;
}

/** How it runs: the mode and what belongs to it, how often it may start, and what its notebook or script is given. */
export function RunOptions(props: PartProps): React.ReactElement {
  const { promotion, words } = props;
  const { trans } = words;
  const { options, isScript } = promotion;
  const errorsAt = errorsOf(promotion, words);
  return (
    <div className="siflab-Choices" data-siflab="promote-options">
      <SelectField
        name="mode"
        label={trans.__('Mode')}
        errors={errorsAt('mode')}
        wide
        value={options.mode}
        options={MODES.map(mode => ({ value: mode, label: modeLabel(mode, words) }))}
        onChange={mode => promotion.setOptions({ mode: mode as Mode }, 'mode')}
      />
      {options.mode === 'distributed' && (
        <TextField
          name="processes"
          label={trans.__('Processes per node')}
          hint={trans.__('as many as GPUs if left empty')}
          errors={errorsAt('processes')}
          isInteger
          value={options.processes}
          onChange={processes => promotion.setOptions({ processes }, 'processes')}
        />
      )}
      <TextField
        name="attempts"
        label={trans.__('Attempts')}
        hint={trans.__(
          'starts that it may take: warned before its time limit, it saves and goes on'
        )}
        errors={errorsAt('attempts')}
        isInteger
        placeholder="1"
        value={options.attempts}
        onChange={attempts => promotion.setOptions({ attempts }, 'attempts')}
      />
      {isScript && (
        <TextField
          name="arguments"
          label={trans.__('Arguments of the script')}
          hint={trans.__('as in a terminal: --epochs 10')}
          errors={errorsAt('arguments', 'argumentsText')}
          wide
          value={options.argumentsText}
          onChange={argumentsText => promotion.setOptions({ argumentsText }, 'arguments')}
        />
      )}
      <Parameters {...props} />
      {options.mode === 'sweep' && <Sweep {...props} />}
    </div>
  );
}

/** The notebook's parameters; in a sweep a field takes several values. */
function Parameters({ promotion, words }: PartProps): React.ReactElement | null {
  const { parameters, options, isScript } = promotion;
  const { trans } = words;
  const errorsAt = errorsOf(promotion, words);
  if (parameters.length === 0) {
    if (options.mode !== 'sweep' || isScript) {
      return null;
    }
    return (
      <p className="siflab-Muted siflab-mod-wide" data-siflab="promote-no-parameters">
        {trans.__(
          'The notebook has no parameters: give the tag "parameters" to the cell that assigns them (Property Inspector, the cogwheels at the right).'
        )}
      </p>
    );
  }
  return (
    <fieldset className="siflab-Parameters siflab-mod-wide" data-siflab="promote-parameters">
      <legend className="siflab-Heading">{trans.__('Parameters')}</legend>
      <div className="siflab-Choices">
        {parameters.map(parameter => (
          <TextField
            key={parameter.name}
            name={`parameter-${parameter.name}`}
            label={parameter.name}
            hint={parameterHint(parameter, words)}
            errors={errorsAt(parameter.name)}
            placeholder={parameter.default}
            value={options.parameters[parameter.name] ?? presetOf(parameter)}
            onChange={value => promotion.setParameter(parameter.name, value)}
          />
        ))}
      </div>
    </fieldset>
  );
}

function Sweep({ promotion, words }: PartProps): React.ReactElement {
  const { options, parameters } = promotion;
  const { trans } = words;
  const errorsAt = errorsOf(promotion, words);
  const count = pointCount(options, parameters);
  return (
    <>
      <TextAreaField
        name="table"
        label={trans.__('Or a table of points')}
        hint={trans.__(
          'Above, several values separated by commas make every combination. Here: paste cells of a spreadsheet, or CSV; the first line has the names.'
        )}
        errors={errorsAt('table')}
        wide
        placeholder={'rate,epochs\n0.1,10\n0.01,20'}
        value={options.table}
        onChange={table => promotion.setOptions({ table }, 'table')}
      />
      <TextField
        name="atOnce"
        label={trans.__('At the same time')}
        hint={trans.__('how many run at once; no limit if left empty')}
        errors={errorsAt('sweep.at_once', 'atOnce')}
        isInteger
        value={options.atOnce}
        onChange={atOnce => promotion.setOptions({ atOnce }, 'sweep.at_once')}
      />
      <p className="siflab-Sweep-count" data-siflab="promote-points" role="status">
        {count ? trans._n('%1 run', '%1 runs', count) : trans.__('no values to sweep over yet')}
      </p>
    </>
  );
}

/** What is wrong at a field: what was typed, else what the server says. */
function errorsOf(promotion: Promotion, words: Words) {
  const problems = promotion.optionProblems;
  return (field: string, name: string = field): string[] => {
    const problem = problems.get(name as OptionName);
    if (problem) {
      return [problemText(problem, words)];
    }
    const said = promotion.errors.filter(error => isAt(error, field));
    return [...new Set(said.map(error => words.say(error.message)))];
  };
}
