// Modal dialogs: the browser's own, which keep the focus inside. Afterwards what had the focus before has it again, or what is nearest to it.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { reasonOf } from '../data/api.ts';
import { notify } from './notices.tsx';

export interface DialogProps {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, close, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = withAncestors(document.activeElement);
    element.current?.showModal();
    // The browser restores the focus only while the dialog is in the document; Preact removes it before this.
    return () => focusFirst(before);
  }, []);
  const outside = (event: MouseEvent): void => {
    if (event.target === element.current) close();
  };
  return (
    <dialog ref={element} class="dialog" aria-labelledby={id} onCancel={close} onMouseDown={outside}>
      <h2 id={id} class="dialog-title">
        {title}
      </h2>
      {children}
    </dialog>
  );
}

const withAncestors = (element: Element | null): readonly Element[] =>
  element === null ? [] : [element, ...withAncestors(element.parentElement)];

/** Focuses the first element or, when it is gone, as a button of what ended, what is nearest to its place. The link that skips the bar
 *  would cover the bar's buttons. */
function focusFirst([element, ...ancestors]: readonly Element[]): void {
  const near = ancestors
    .filter((one) => one.isConnected)
    .map((one) => one.querySelector('button:enabled, a[href]:not(.skip)'));
  const target = element?.isConnected === true ? element : near.find((one) => one !== null);
  if (target instanceof HTMLElement) target.focus({ preventScroll: true });
}

export interface ConfirmProps {
  readonly title: string;
  /** The text of the button that confirms. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  readonly close: () => void;
  /** Called when confirmed; the dialog shows its error. */
  readonly onConfirm: (form: FormData) => Promise<void>;
  readonly children?: ComponentChildren;
}

/** A question with fields: nothing happens before its button is pressed. */
export function Confirm({ title, verb, isDangerous = false, close, onConfirm, children }: ConfirmProps) {
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  // Another dialog may be open when the answer comes.
  const isOpen = useRef(true);
  useEffect(() => () => void (isOpen.current = false), []);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    onConfirm(new FormData(event.currentTarget as HTMLFormElement)).then(
      () => isOpen.current && close(),
      (error: unknown) => {
        if (!isOpen.current) return notify(`${title}: ${reasonOf(error)}`, true);
        setProblem(reasonOf(error));
        setBusy(false);
      },
    );
  };
  return (
    <Dialog title={title} close={close}>
      <form onSubmit={submit}>
        {children}
        {problem !== undefined && (
          <p class="problem lines" role="alert">
            {problem}
          </p>
        )}
        <div class="actions">
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class={isDangerous ? 'button danger' : 'button main-action'} disabled={isBusy}>
            {isBusy ? 'Working …' : verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
