export { FailingStore, type FailingStoreOptions } from './failing-store.ts';
export { ManualClock } from './manual-clock.ts';
export { type ContractCase, type ContractSetup, storeContract } from './store-contract.ts';
