// Shown in place of data: loading, empty, or failed.
import type { ComponentChildren } from 'preact';

export interface EmptyProps {
  readonly title: string;
  /** The page shows nothing else, so the title is that of the page. */
  readonly isPage?: boolean;
  readonly children?: ComponentChildren;
}

export function Empty({ title, isPage = false, children }: EmptyProps) {
  return (
    <div class="empty">
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
    </div>
  );
}

export function Trouble({
  title,
  message,
  again,
}: {
  readonly title: string;
  readonly message: string;
  readonly again?: () => void;
}) {
  return (
    <div class="empty bad" role="alert">
      <h2>{title}</h2>
      <p class="lines">{message}</p>
      {again && (
        <button class="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Bones({ rows = 5, label }: { readonly rows?: number; readonly label: string }) {
  return (
    <div class="rows" role="status">
      <span class="hidden">{label}</span>
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} class="bone" style={{ width: `${90 - ((at * 17) % 40)}%` }} />
      ))}
    </div>
  );
}
