import { HTMLSelect } from '@jupyterlab/ui-components';
import * as React from 'react';

export interface LabelledProps {
  /** The request's key; also the name of the input and the mark for tests. */
  name: string;
  label: string;
  hint?: string;
  /** What is wrong; the last one said by us or by the server. */
  errors: readonly string[];
  wide?: boolean;
}

/** A label, its control, a hint and the errors, tied together for a screen reader. */
function Labelled(
  props: LabelledProps & { children: (described: ControlAttributes) => React.ReactElement }
): React.ReactElement {
  const id = `siflab-promote-${props.name}`;
  const invalid = props.errors.length > 0;
  const described = [props.hint ? `${id}-hint` : '', invalid ? `${id}-error` : ''].filter(
    part => part !== ''
  );
  return (
    <div
      className={`siflab-Field${props.wide ? ' siflab-mod-wide' : ''}`}
      data-siflab-field={props.name}
    >
      <label className="siflab-Field-label" htmlFor={id}>
        {props.label}
      </label>
      {props.children({
        id,
        name: props.name,
        'aria-invalid': invalid || undefined,
        'aria-describedby': described.join(' ') || undefined
      })}
      {props.hint && (
        <div className="siflab-Field-hint" id={`${id}-hint`}>
          {props.hint}
        </div>
      )}
      <div className="siflab-Field-errors" id={`${id}-error`} role="alert">
        {props.errors.map(error => (
          <div key={error} className="siflab-Field-error">
            {error}
          </div>
        ))}
      </div>
    </div>
  );
}

interface ControlAttributes {
  id: string;
  name: string;
  'aria-invalid': true | undefined;
  'aria-describedby': string | undefined;
}

export interface SelectFieldProps extends LabelledProps {
  value: string;
  options: readonly { value: string; label: string }[];
  onChange: (value: string) => void;
}

export function SelectField(props: SelectFieldProps): React.ReactElement {
  return (
    <Labelled {...props}>
      {attributes => (
        <HTMLSelect
          {...attributes}
          className="siflab-Field-select"
          value={props.value}
          onChange={event => props.onChange(event.currentTarget.value)}
        >
          {props.options.map(option => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </HTMLSelect>
      )}
    </Labelled>
  );
}

export interface TextFieldProps extends LabelledProps {
  value: string;
  /** A whole number: the arrow keys count. What is out of range stays typed and is said in words. */
  isInteger?: boolean;
  placeholder?: string;
  maxLength?: number;
  onChange: (value: string) => void;
}

export function TextField(props: TextFieldProps): React.ReactElement {
  const onKeyDown = (event: React.KeyboardEvent) => {
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (props.isInteger && step && /^\d+$/.test(props.value.trim())) {
      event.preventDefault();
      props.onChange(String(Math.max(0, Number(props.value) + step)));
    }
  };
  return (
    <Labelled {...props}>
      {attributes => (
        <input
          {...attributes}
          className="jp-mod-styled siflab-Field-input"
          type="text"
          inputMode={props.isInteger ? 'numeric' : undefined}
          autoComplete="off"
          spellCheck={false}
          placeholder={props.placeholder}
          maxLength={props.maxLength}
          value={props.value}
          onKeyDown={onKeyDown}
          onChange={event => props.onChange(event.currentTarget.value)}
        />
      )}
    </Labelled>
  );
}

export interface TextAreaFieldProps extends LabelledProps {
  value: string;
  placeholder?: string;
  onChange: (value: string) => void;
}

export function TextAreaField(props: TextAreaFieldProps): React.ReactElement {
  return (
    <Labelled {...props}>
      {attributes => (
        <textarea
          {...attributes}
          className="jp-mod-styled siflab-Field-input siflab-Field-table"
          rows={3}
          spellCheck={false}
          placeholder={props.placeholder}
          value={props.value}
          onChange={event => props.onChange(event.currentTarget.value)}
        />
      )}
    </Labelled>
  );
}
