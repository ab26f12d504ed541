// A select with a label for screen readers.
export interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  /** The text for no choice; without it one option is always chosen. */
  readonly all?: string;
  readonly options: readonly { readonly value: string; readonly text: string }[];
  readonly choose: (value: string) => void;
}

export function Choice({ label, value, all, options, choose }: ChoiceProps) {
  return (
    <label class="field">
      <span class="hidden">{label}</span>
      <select class="input" aria-label={label} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {all !== undefined && <option value="">{all}</option>}
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
    </label>
  );
}
