// The drift of all sets or of one.
import { overview } from '../../data/store.ts';
import { Bones } from '../../parts/states.tsx';
import { place, refine } from '../../data/router.ts';
import { Choice } from '../../parts/choice.tsx';
import { DriftList } from './drift-list.tsx';

export function DriftView() {
  const sets = overview.value?.sets;
  if (sets === undefined) return <Bones label="Loading" />;
  const chosen = place.value.query['set'] ?? '';
  const shown = sets.map(({ name }) => name).filter((name) => chosen === '' || name === chosen);
  return (
    <>
      <header class="view-head">
        <h1>Drift</h1>
        <Choice
          label="Set"
          value={chosen}
          all="all sets"
          options={sets.map(({ name }) => ({ value: name, text: name }))}
          choose={(set) => refine({ set })}
        />
      </header>
      <DriftList sets={shown} />
    </>
  );
}
