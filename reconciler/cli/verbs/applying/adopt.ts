// `gantry adopt` and `gantry release`: add objects to a set's ownership or remove them; nothing else about them changes.
import type { Run, Context } from '../../session/context.ts';
import type { Client } from '../../../../server/client/client.ts';
import type { Address } from '../../../core/documents/document.ts';
import { coreKind } from '../../../core/kinds/index.ts';
import { labelsOf, type Labels } from '../../../core/documents/labels.ts';
import type { Loaded } from '../../../manifest/load-contract.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { filterLabelled, noneSelected, objectSelector, selectedAddresses } from '../../flags/label-options.ts';
import { parseAddress } from '../../flags/parse-values.ts';
import type { AdoptOptions, ReleaseOptions } from './applying-verbs.ts';
import { selectObjects } from '../../flags/selector.ts';
import { loadSet } from '../../session/load-set.ts';
import { planOf, type SetPlan } from '../../session/plan.ts';
import { withClient } from '../../session/connect.ts';
import { setNameOf } from '../../flags/set-name.ts';
import { CliError, usageError, commandError } from '../../errors/usage-error.ts';
import { carryOut } from './carry-out.ts';
import { writeUndeclared } from './adopt-write.ts';

export const adopt: Run<AdoptOptions> = async (context, words) => {
  const wanted = wantedOf(words, context.options);
  return withClient(context, async (client) => {
    const loaded = await documentsFor(context, client, wanted);
    const known = new Set<Address>(loaded.documents.map(({ address }) => address));
    const strange = [...(wanted ?? [])].filter((address) => !known.has(address) && !isAliasOf(address, loaded));
    if (strange.length > 0) {
      const remedy = 'write them with gantry export, or let adopt do so with --write FILE.yaml';
      throw commandError(`No manifest declares ${strange.join(', ')}: ${remedy}`);
    }
    const { planAdoption } = await import('../../../core/adoption/adopt.ts');
    const planned = await planOf(context, client, loaded, 'apply');
    const chosen = wanted ?? selectedSet(context, loaded);
    const { plan, refusals } = planAdoption(planned.plan, planned.observed, planned.owner, chosen);
    if (refusals.length > 0) {
      const lines = refusals.map((one) => `  ${one}`).join('\n');
      const remedy = 'Correct the manifests (gantry export writes the live state), or apply them';
      throw new CliError(
        `Nothing was adopted, because the plan of these objects is not empty:\n${lines}\n${remedy}`,
        exitCodes.guard,
      );
    }
    const { revision: _, ...rest } = planned;
    const code = await record(context, client, { ...rest, plan }, 'already belongs to the set');
    if (code === exitCodes.ok) await verifyEmptyPlan(context, client, loaded, chosen);
    return code;
  });
};

function selectedSet({ options }: Context<AdoptOptions>, { documents }: Loaded): ReadonlySet<Address> | undefined {
  const selected = selectedAddresses(options, documents);
  return selected === undefined ? undefined : new Set(selected);
}

/** Aliases are declared by their images. */
const isAliasOf = (address: Address, { documents }: Loaded): boolean =>
  address.startsWith('image_alias/') && documents.some(({ kind }) => kind === 'image');

function wantedOf(words: readonly string[], options: ReleaseOptions): ReadonlySet<Address> | undefined {
  const isAll = options.all === true || objectSelector(options) !== undefined;
  if (words.length > 0 === isAll) throw usageError('give exactly one of: objects as KIND/NAME, --all, labels with -l');
  return isAll ? undefined : new Set(words.map(parseAddress));
}

async function documentsFor(
  context: Context<AdoptOptions>,
  client: Client,
  wanted: ReadonlySet<Address> | undefined,
): Promise<Loaded> {
  const { write, file } = context.options;
  if (write === undefined) return loadSet(context, []);
  const declared = file === undefined ? [] : (await loadSet(context, [])).documents.map(({ address }) => address);
  await writeUndeclared(context, client, { path: write, wanted, declared: new Set(declared) });
  return loadSet(context, [write]);
}

async function verifyEmptyPlan(
  context: Context<AdoptOptions>,
  client: Client,
  loaded: Loaded,
  wanted: ReadonlySet<Address> | undefined,
): Promise<void> {
  const { plan } = await planOf(context, client, loaded, 'apply');
  const { isChange } = await import('../../../core/plan/summary.ts');
  const left = plan.changes.filter((change) => wanted?.has(change.address) !== false && isChange(change));
  if (left.length > 0)
    throw new CliError(
      `${left.map(({ address }) => address).join(', ')} changed in the meantime: see gantry plan`,
      exitCodes.stale,
    );
  context.out('The plan of the adopted objects is empty.');
}

async function record(
  context: Context<ReleaseOptions>,
  client: Client,
  planned: SetPlan,
  nothing: string,
): Promise<ExitCode> {
  const { plan } = planned;
  for (const change of plan.changes) {
    context.out(change.steps.length === 0 ? `${change.address} ${nothing}` : change.address);
  }
  return plan.steps.length === 0 ? exitCodes.ok : carryOut(context, client, planned);
}

export const release: Run<ReleaseOptions> = async (context, words) => {
  const { options } = context;
  wantedOf(words, options);
  const set = setNameOf(context.options, []);
  const [{ observe }, { ownerOf }, { ownedOf, planRelease }] = await Promise.all([
    import('../../../engine/observe/observe.ts'),
    import('../../../engine/runs/found-set.ts'),
    import('../../../core/adoption/adopt.ts'),
  ]);
  return withClient(context, async (client) => {
    const observed = await observe(client, context.stop, context.options.project);
    const owner = ownerOf(set, observed);
    const owned = ownedOf(observed, owner);
    if (owned.length === 0) throw commandError(`The set ${set} owns nothing here`);
    const named = selectObjects(words, owned, `the set ${set} owns no such object`);
    const labelled = ({ kind, name }: (typeof named)[number]): Labels =>
      labelsOf(coreKind(kind).live(observed, name)?.object ?? {});
    const chosen = filterLabelled(options, named, labelled);
    if (chosen.length === 0) throw noneSelected('object of the set', named.map(labelled));
    const plan = planRelease(observed, owner, new Set(chosen.map(({ address }) => address)));
    const code = await record(context, client, { plan, observed, owner, images: new Map() }, '');
    if (code === exitCodes.ok)
      context.note(
        `The set ${set} no longer owns them. A manifest that still declares them claims them at its next apply.`,
      );
    return code;
  });
};
