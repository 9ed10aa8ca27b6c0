// For each alert, series for which it fires and series, just as likely, for which it does not. The series go on for three hours.

export interface AlertCase {
  readonly alert: string;
  /** When it has to fire, and when it has to be silent: after the time for which its condition has to hold. */
  readonly at: string;
  readonly fires: readonly string[];
  /** The labels that name what it is about. */
  readonly about: Readonly<Record<string, string>>;
  readonly calm: readonly string[];
}

const node = { job: "svc", instance: "a" };
const on = `job="svc",instance="a"`;
const production = `svc_node_info{${on},region="eu-west1",environment="production"} 1`;
const sandbox = `svc_node_info{${on},region="eu-west1",environment="sandbox"} 1`;

/** A gauge of one node that stays as it is. */
function gauge(name: string, value: number, labels = ""): string {
  return `${name}{${labels === "" ? on : `${on},${labels}`}} ${value}`;
}

/** A counter of one node that grows by so much a minute. */
function grows(name: string, perMinute: number, labels = ""): string {
  return gauge(name, perMinute, labels).replace(/ (\S+)$/, " 0+$1");
}

/** A histogram of 100 observations a minute, of which so many are within `bound`. */
function timed(name: string, { bound, within }: { bound: string; within: number }, labels = ""): string[] {
  const more = labels === "" ? "" : `,${labels}`;
  const bucket = (le: string, perMinute: number) => grows(`${name}_bucket`, perMinute, `le="${le}"${more}`);
  return [bucket(bound, within), bucket("10", 100), bucket("+Inf", 100)];
}

function refused(codes: readonly string[], perMinute: number): string[] {
  return [
    ...codes.map((code) => grows("svc_http_refusals_total", perMinute, `surface="business",code="${code}"`)),
    grows("svc_http_requests_total", 1_000, `surface="business",method="POST",route="/v1",status="200"`),
  ];
}

function share(alert: string, code: string, { above, below }: { above: number; below: number }): AlertCase {
  const calm = [...refused([code], below), ...refused(["not_found"], 900).slice(0, 1)];
  return { alert, at: "30m", fires: refused([code], above), about: { surface: "business" }, calm };
}

/** A case about one gauge. */
function level(
  alert: string,
  at: string,
  metric: string,
  {
    above,
    below,
    about = node,
    labels = "",
  }: {
    above: number;
    below: number;
    about?: Readonly<Record<string, string>>;
    labels?: string;
  },
): AlertCase {
  return { alert, at, fires: [gauge(metric, above, labels)], about, calm: [gauge(metric, below, labels)] };
}

const nowhere = {};
const kind = { about: { kind: "push" }, labels: `kind="push"` };

const ofNodes: readonly AlertCase[] = [
  level("SvcNodeDown", "2m", "up", { above: 0, below: 1 }),
  level("SvcNodeNotReady", "2m", "svc_ready", { above: 0, below: 1 }),
  level("SvcCheckFails", "6m", "svc_ready_check", {
    above: 0,
    below: 1,
    about: { ...node, check: "index" },
    labels: `check="index"`,
  }),
  {
    alert: "SvcPlainText",
    at: "2m",
    fires: [gauge("svc_plain_text_channels", 1), production],
    about: node,
    calm: [gauge("svc_plain_text_channels", 1), sandbox],
  },
  level("SvcLeaseLost", "1m", "svc_cluster_lease_held", { above: 0, below: 1 }),
  {
    alert: "SvcNodesMissing",
    at: "6m",
    fires: [production, gauge("svc_cluster_lease_held", 1)],
    about: { region: "eu-west1" },
    calm: [production, gauge("svc_cluster_lease_held", 1)].flatMap((each) => [
      each,
      each.replace(`instance="a"`, `instance="b"`),
    ]),
  },
  {
    alert: "SvcClusterViewsDiffer",
    at: "6m",
    fires: [gauge("svc_cluster_members", 4), gauge("svc_cluster_members", 3, `x="b"`)],
    about: nowhere,
    calm: [gauge("svc_cluster_members", 4), gauge("svc_cluster_members", 4, `x="b"`)],
  },
  level("SvcLongStep", "3m", "svc_longest_step_seconds", { above: 0.6, below: 0.4 }),
  level("SvcEventLoopLag", "11m", "nodejs_eventloop_lag_p99_seconds", { above: 0.3, below: 0.2 }),
  {
    alert: "SvcMemory",
    at: "11m",
    fires: [gauge("svc_process_resident_bytes", 3.1e9), gauge("svc_machine_memory_bytes", 4e9)],
    about: node,
    calm: [gauge("svc_process_resident_bytes", 2.9e9), gauge("svc_machine_memory_bytes", 4e9)],
  },
  {
    alert: "SvcDiskFillsUp",
    at: "6m",
    fires: [
      gauge("svc_disk_free_bytes", 29, `place="home"`),
      gauge("svc_disk_size_bytes", 100, `place="home"`),
    ],
    about: { ...node, place: "home" },
    calm: [
      gauge("svc_disk_free_bytes", 31, `place="home"`),
      gauge("svc_disk_size_bytes", 100, `place="home"`),
    ],
  },
  {
    alert: "SvcBackupOld",
    at: "11m",
    fires: [gauge("svc_backup_age_seconds", 130_000), production],
    about: nowhere,
    calm: [gauge("svc_backup_age_seconds", 130_000), sandbox],
  },
  level("SvcOperatorFileFault", "6m", "svc_operator_file_faults", { above: 1, below: 0 }),
];

const ofActors: readonly AlertCase[] = [
  {
    alert: "SvcFenceRefusals",
    at: "61m",
    // The same sum on both nodes.
    fires: [grows("svc_fence_refusals_total", 1), grows("svc_fence_refusals_total", 1, `x="b"`)],
    about: nowhere,
    calm: [grows("svc_fence_refusals_total", 0.15), grows("svc_fence_refusals_total", 0.15, `x="b"`)],
  },
  level("SvcActorQuarantined", "1m", "svc_actors_quarantined", { above: 1, below: 0, ...kind }),
  {
    alert: "SvcActorCrashes",
    at: "11m",
    fires: [grows("svc_actors_crashes_total", 1)],
    about: nowhere,
    calm: [grows("svc_actors_crashes_total", 0.4)],
  },
  level("SvcPushesStalled", "11m", "svc_pushes_stalled", { above: 1, below: 0, about: { instance: "a" } }),
  level("SvcOutboxOld", "6m", "svc_actors_outbox_oldest_seconds", { above: 901, below: 899, ...kind }),
  level("SvcOutboxLong", "11m", "svc_actors_outbox", {
    above: 10_001,
    below: 9_999,
    ...kind,
    about: nowhere,
  }),
  level("SvcMailboxLong", "6m", "svc_actors_mailbox_longest", { above: 5_001, below: 4_999, ...kind }),
  {
    alert: "SvcCommitsSlow",
    at: "20m",
    fires: timed("svc_actors_commit_duration_seconds", { bound: "0.5", within: 98 }),
    about: nowhere,
    calm: timed("svc_actors_commit_duration_seconds", { bound: "0.5", within: 99.5 }),
  },
  {
    alert: "SvcCommitsFail",
    at: "20m",
    fires: [grows("svc_actors_commit_failures_total", 7)],
    about: nowhere,
    calm: [grows("svc_actors_commit_failures_total", 5)],
  },
  level("SvcIndexLags", "6m", "svc_index_lag_seconds", {
    above: 121,
    below: 119,
    about: { region: "us-east1" },
    labels: `region="us-east1"`,
  }),
  {
    alert: "SvcIndexMissing",
    at: "2m",
    fires: [gauge("svc_index_missing_collections", 1), production],
    about: { region: "eu-west1" },
    calm: [gauge("svc_index_missing_collections", 0), production],
  },
  level("SvcPurgesLate", "61m", "svc_purges_late", { above: 1, below: 0, about: nowhere }),
  level("SvcPurgeLimitNear", "1m", "svc_purge_oldest_seconds", {
    above: 2_548_801,
    below: 2_548_799,
    about: nowhere,
  }),
];

const ofLogAndMoney: readonly AlertCase[] = [
  level("SvcLogLags", "6m", "svc_log_oldest_leaf_seconds", { above: 7_201, below: 7_199, about: nowhere }),
  level("SvcLogHeld", "1m", "svc_log_held_seconds", { above: 301, below: 299, about: nowhere }),
  level("SvcLogUnwitnessed", "1m", "svc_log_unwitnessed_seconds", { above: 901, below: 899, about: nowhere }),
  {
    alert: "SvcLogWithoutWitnesses",
    at: "11m",
    fires: [gauge("svc_log_witness_quorum", 0), production],
    about: node,
    calm: [gauge("svc_log_witness_quorum", 0), sandbox],
  },
  {
    alert: "SvcAllowanceUnanswered",
    at: "20m",
    fires: [grows("svc_allowance_refusals_total", 1, `reason="unanswered"`)],
    about: nowhere,
    calm: [grows("svc_allowance_refusals_total", 1, `reason="exhausted"`)],
  },
  {
    alert: "SvcAllowanceExhausted",
    at: "30m",
    fires: [grows("svc_allowance_refusals_total", 11, `reason="exhausted"`)],
    about: nowhere,
    calm: [grows("svc_allowance_refusals_total", 9, `reason="exhausted"`)],
  },
  {
    alert: "SvcAccountLow",
    // Half an hour after its last series: it was not used since, and is as low as it was.
    at: "210m",
    fires: [gauge("svc_account_left_seconds", 6 * 86_400, `company="c"`)],
    about: { company: "c" },
    calm: [gauge("svc_account_left_seconds", 7 * 86_400, `company="c"`)],
  },
  {
    alert: "SvcReceiptsNotClosed",
    at: "40m",
    fires: [
      grows("svc_receipts_total", 1, `kind="search"`),
      gauge("svc_receipt_batches_closed_total", 9),
      production,
    ],
    about: { region: "eu-west1" },
    calm: [
      grows("svc_receipts_total", 1, `kind="search"`),
      grows("svc_receipt_batches_closed_total", 1),
      production,
    ],
  },
  {
    alert: "SvcReceiptsSlow",
    at: "20m",
    fires: timed("svc_receipt_write_duration_seconds", { bound: "0.5", within: 98 }),
    about: nowhere,
    calm: timed("svc_receipt_write_duration_seconds", { bound: "0.5", within: 99.5 }),
  },
];

const durations = "svc_http_request_duration_seconds";
const [search, fetched] = [
  `surface="retrieval",route="/v1/search"`,
  `surface="retrieval",route="/v1/records/:record_id"`,
];

function slow(alert: string, labels: string): AlertCase {
  const [fires, calm] = [98, 99.5].map((within) => timed(durations, { bound: "1", within }, labels));
  return { alert, at: "20m", fires: fires ?? [], about: nowhere, calm: calm ?? [] };
}

const ofRequests: readonly AlertCase[] = [
  {
    alert: "SvcInternalErrors",
    at: "10m",
    fires: refused(["internal_error"], 1),
    about: { surface: "business" },
    calm: refused(["unavailable"], 1),
  },
  share("SvcUnavailable", "unavailable", { above: 11, below: 9 }),
  slow("SvcSearchesSlow", search),
  slow("SvcFetchesSlow", fetched),
  share("SvcSignaturesRefused", "nonce_reused", { above: 51, below: 49 }),
  share("SvcSignaturesExpired", "signature_expired", { above: 11, below: 9 }),
  share("SvcEverySignatureExpired", "signature_expired", { above: 950, below: 850 }),
  share("SvcMandatesRefused", "out_of_scope", { above: 51, below: 49 }),
  share("SvcHostsRefused", "host_not_allowed", { above: 11, below: 9 }),
  share("SvcLimited", "rate_limited", { above: 51, below: 49 }),
  {
    alert: "SvcEdgeBounds",
    at: "30m",
    fires: edges(1),
    about: { instance: "a" },
    calm: edges(0),
  },
  {
    alert: "SvcChecksRefused",
    at: "30m",
    fires: [grows("svc_http_refused_late_checks_total", 1), gauge("svc_http_refused_excess_checks_total", 0)],
    about: { instance: "a" },
    calm: [gauge("svc_http_refused_late_checks_total", 9), gauge("svc_http_refused_excess_checks_total", 9)],
  },
  {
    alert: "SvcDomainsUnanswered",
    at: "150m",
    fires: [grows("svc_domain_probes_total", 10), grows("svc_domain_probes_unanswered_total", 6)],
    about: nowhere,
    calm: [grows("svc_domain_probes_total", 10), grows("svc_domain_probes_unanswered_total", 4)],
  },
  {
    alert: "SvcInsightLost",
    at: "11m",
    fires: [grows("svc_insight_lost_total", 1)],
    about: node,
    calm: [gauge("svc_insight_lost_total", 5)],
  },
  {
    alert: "SvcInsightWaits",
    at: "30m",
    fires: [grows("svc_insight_waiting", 120)],
    about: node,
    calm: [gauge("svc_insight_waiting", 400)],
  },
  {
    alert: "SvcSpansDropped",
    at: "30m",
    fires: [grows("svc_trace_spans_dropped_total", 1, `reason="not_taken"`)],
    about: { reason: "not_taken" },
    calm: [gauge("svc_trace_spans_dropped_total", 7, `reason="not_taken"`)],
  },
  {
    alert: "SvcExcessiveSearches",
    at: "61m",
    fires: [grows("svc_insight_excessive_searches_total", 200)],
    about: nowhere,
    calm: [grows("svc_insight_excessive_searches_total", 100)],
  },
];

function edges(perMinute: number): string[] {
  const all = ["connections", "address_connections", "bodies", "files", "slow_bodies", "unread_answers"];
  return [...all, "stalled_readers"].map((each, index) =>
    grows(`svc_http_refused_${each}_total`, index === 1 ? perMinute : 0),
  );
}

export const alertCases: readonly AlertCase[] = [...ofNodes, ...ofActors, ...ofLogAndMoney, ...ofRequests];
