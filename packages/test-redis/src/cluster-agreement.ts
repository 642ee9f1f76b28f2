import { type ClusterView, includes, SLOTS, type SlotRange } from './cluster-view.ts';

/**
 * Throws, and says what is missing, until all slots are served, everybody knows by whom, and replicas are in step.
 *
 * @param views of all nodes that answer
 * @param slot asks for this one only
 */
export function expectAgreement(views: readonly ClusterView[], slot?: number): void {
  const ranges = rangesAt(views[0], slot);
  const count = ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  if (count < (slot === undefined ? SLOTS : 1)) throw new Error('Expected a master for each slot');
  for (const { master } of ranges) {
    if (views.every(({ node }) => node.port !== master)) {
      throw new Error(`Expected another master to replace the one at port ${master}`);
    }
  }
  for (const view of views) {
    const { url, port } = view.node;
    if (!view.isOk) throw new Error(`Expected the cluster to be fine for ${url}`);
    if (JSON.stringify(rangesAt(view, slot)) !== JSON.stringify(ranges)) {
      throw new Error(`Expected ${url} to know what the other nodes know`);
    }
    const followed = ranges.find(({ master }) => master === view.follows?.port);
    if (followed === undefined) continue;
    if (!view.follows?.isInStep || !followed.replicas.includes(port)) {
      throw new Error(`Expected ${url} to be in step with its master`);
    }
  }
}

/** All ranges, or the slot that is named as if it were a range of its own. */
function rangesAt(view?: ClusterView, slot?: number): readonly SlotRange[] {
  const { ranges = [] } = view ?? {};
  if (slot === undefined) return ranges;
  const found = ranges.filter((range) => includes(range, slot));
  return found.map((range) => ({ ...range, first: slot, last: slot }));
}
