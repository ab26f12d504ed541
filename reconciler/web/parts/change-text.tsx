// Counts of changes as signs and words: +2 to create, ~3 to update, −1 to delete; of a run that has ended: +2 created.
interface Counts {
  readonly create: number;
  readonly update: number;
  readonly delete: number;
  readonly isDone?: boolean;
}

export function ChangeText(counts: Counts) {
  const parts = [
    { sign: '+', count: counts.create, word: counts.isDone ? 'created' : 'to create', tone: 'good-text' },
    { sign: '~', count: counts.update, word: counts.isDone ? 'updated' : 'to update', tone: 'warn-text' },
    { sign: '−', count: counts.delete, word: counts.isDone ? 'deleted' : 'to delete', tone: 'bad-text' },
  ].filter(({ count }) => count > 0);
  if (parts.length === 0) return <span>no changes</span>;
  return (
    <span class="changes">
      {parts.map(({ sign, count, word, tone }) => (
        <span key={sign} class={tone}>
          {sign}
          {count} {word}
        </span>
      ))}
    </span>
  );
}
