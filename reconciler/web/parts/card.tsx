// A card with a title, and the head of a table in it.
import type { ComponentChildren } from 'preact';

interface CardProps {
  readonly id: string;
  readonly title: ComponentChildren;
  readonly count?: number | undefined;
  /** Stands behind the title. */
  readonly more?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Card({ id, title, count, more, children }: CardProps) {
  return (
    <section class="card" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {count !== undefined && <span class="soft">{count}</span>}
        {more}
      </header>
      {children}
    </section>
  );
}

export function Columns({ names }: { readonly names: readonly string[] }) {
  return (
    <thead>
      <tr>
        {names.map((name) => (
          <th key={name}>{name}</th>
        ))}
      </tr>
    </thead>
  );
}
