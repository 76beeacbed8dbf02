// The spawn page: keeps what is free up to date, and says when the present choice would start. The form works without it.
(() => {
  "use strict";
  const root = document.querySelector('[data-siflab="form"]');
  if (!root || !root.querySelector('input[name="profile"]')) return;

  const OFFER_EVERY = 15000; // ms; all times here
  const ESTIMATE_EVERY = 60000;
  const AFTER_A_CHANGE = 400;
  const ANSWER_LIMIT = 20000;

  const words = JSON.parse(root.dataset.words);
  const language = root.lang.startsWith("zh") ? "zh" : "en";
  const page = window.jhdata || {};
  const part = name => root.querySelector(`[data-siflab="${name}"]`);
  const cards = [...root.querySelectorAll(".siflab-card")];

  const fill = (name, values = {}) => words[name].replace(/\{(\w+)\}/g, (_, key) => String(values[key]));
  const clock = iso => (iso ? iso.slice(11, 19) : "?");
  const gpuLabel = name => (/^[a-z0-9]+$/i.test(name) && name !== "shard" ? name.toUpperCase() : name);
  const gpuName = gpu => (gpu.kind === "gpu" ? gpuLabel(gpu.type) : fill(gpu.kind, { type: gpu.type }));
  const two = number => String(number).padStart(2, "0");

  function duration(seconds) {
    const days = Math.floor(seconds / 86400);
    const hours = Math.floor((seconds % 86400) / 3600);
    const rest = `${two(Math.floor((seconds % 3600) / 60))}:${two(seconds % 60)}`;
    return days ? `${days}-${two(hours)}:${rest}` : `${hours}:${rest}`;
  }

  const memory = mib => (mib > 0 && mib % 1024 === 0 ? `${mib / 1024}G` : `${mib}M`);
  const roundMemory = mib => (mib >= 1024 ? `${Math.floor(mib / 1024)}G` : `${mib}M`);

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function show(place, text) {
    if (place && place.textContent !== text) place.textContent = text;
  }

  // ---- the choice

  const radio = card => card.querySelector('input[name="profile"]');
  const chosenCard = () => cards.find(card => radio(card).checked);
  const fieldsOf = card => [...card.querySelectorAll("[data-field]")];
  const control = field => field.querySelector("select, input");

  function choice() {
    const card = chosenCard();
    if (!card) return null;
    const options = { profile: card.dataset.profile };
    for (const field of fieldsOf(card)) {
      const value = control(field).value.trim();
      if (!field.hidden && value) options[field.dataset.field] = value;
    }
    return options;
  }

  // ---- the Hub's answers

  class Refused extends Error {}

  async function ask(path, query, body, signal) {
    const url = new URL(`${root.dataset.baseUrl}api/siflab/${path}`, window.location.origin);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    if (root.dataset.user && root.dataset.user !== page.user) url.searchParams.set("user", root.dataset.user);
    const headers = { "X-XSRFToken": page.xsrf_token || "", Accept: "application/json" };
    if (body) headers["Content-Type"] = "application/json";
    const limit = new AbortController();
    const stop = () => limit.abort();
    const timer = window.setTimeout(stop, ANSWER_LIMIT);
    signal.addEventListener("abort", stop);
    try {
      const answer = await fetch(url, {
        method: body ? "POST" : "GET",
        headers,
        body: body && JSON.stringify(body),
        cache: "no-store",
        signal: limit.signal,
      });
      if (answer.status === 401 || answer.status === 403) throw new Refused();
      if (!answer.ok) throw new Error(`${answer.status}`);
      return await answer.json();
    } finally {
      window.clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  // ---- what is free

  let offerRequest = new AbortController();
  let offerAt = 0;

  async function refreshOffer() {
    offerRequest.abort();
    const request = (offerRequest = new AbortController());
    offerAt = Date.now();
    try {
      const offer = await ask("offer", choice() || {}, null, request.signal);
      if (!request.signal.aborted) showOffer(offer);
    } catch (error) {
      if (!request.signal.aborted) show(part("offer-state"), words[error instanceof Refused ? "logged_out" : "no_offer"]);
    }
  }

  function showOffer(offer) {
    const said = offer.message ? ` ${offer.message[language]}` : "";
    const when = offer.taken_at ? fill(offer.stale ? "stale" : "as_of", { at: clock(offer.taken_at) }) : "";
    show(part("offer-state"), when + said);
    const partitions = new Map(offer.partitions.map(partition => [partition.name, partition]));
    for (const card of cards) {
      const mine = offer.profiles[card.dataset.profile];
      if (!mine) continue;
      show(card.querySelector(".siflab-free"), freeWords(card, mine, partitions));
      const why = card.querySelector(".siflab-why");
      show(why, mine.possible || !mine.why ? "" : fill("not_possible", { why: mine.why[language] }));
      why.hidden = !why.textContent;
      radio(card).disabled = !mine.possible && !radio(card).checked;
      for (const field of fieldsOf(card)) {
        const offered = mine.fields[field.dataset.field];
        if (offered) narrow(field, offered);
      }
      hideWhatDoesNotApply(card);
    }
    part("inventory").hidden = offer.partitions.length === 0;
    lastPartitions = offer.partitions;
    if (part("inventory").open) showPartitions();
  }

  function freeWords(card, mine, partitions) {
    const field = fieldsOf(card).find(one => one.dataset.field === "partition");
    const partition = partitions.get((field && control(field).value) || card.dataset.partition);
    const parts = [];
    if (mine.gpus_total !== null) {
      parts.push(fill("free_gpus", { free: mine.gpus_free || 0, total: mine.gpus_total, type: card.dataset.gpu }));
    } else if (partition) {
      parts.push(fill("free_cpus", { free: partition.cpus_free, total: partition.cpus_total }));
    }
    if (partition) parts.push(fill("partition_is", { name: partition.name, state: words[`state_${partition.state}`] }));
    return parts.join(" · ");
  }

  /** Bring one field to what is possible now. */
  function narrow(field, offered) {
    const input = control(field);
    const why = offered.why ? offered.why[language] : "";
    let hint = "";
    if (offered.choices && offered.choices.length && typeof offered.choices[0] === "object") narrowNames(input, offered.choices);
    else if (input.tagName === "SELECT") {
      const possible = number =>
        offered.choices && offered.choices.length
          ? offered.choices.includes(number)
          : number >= (offered.min || 0) && number <= offered.max;
      for (const option of input.options) option.disabled = !possible(Number(option.value));
      const open = [...input.options].filter(option => !option.disabled).map(option => Number(option.value));
      if (open.length && open.length < input.options.length) hint = fill("up_to", { most: Math.max(...open) });
    } else if ("max_mib" in offered) hint = fill("up_to", { most: memory(offered.max_mib) });
    else if ("max_seconds" in offered) hint = fill("up_to", { most: duration(offered.max_seconds) });
    else if ("max" in offered) hint = fill("from_to", { least: offered.min || 0, most: offered.max });
    show(document.getElementById(`${input.id}-hint`), hint && why ? fill("with_why", { hint, why }) : hint || why);
  }

  function narrowNames(select, choices) {
    const value = select.value;
    const wanted = choices.map(one => [String(one.value), optionWords(one), !one.possible]);
    const same = wanted.length === select.options.length && wanted.every(([name], at) => select.options[at].value === name);
    if (!same) {
      select.replaceChildren(...wanted.map(([name]) => element("option", { value: name })));
      select.value = value;
      if (select.selectedIndex < 0) select.selectedIndex = 0;
    }
    wanted.forEach(([, text, disabled], at) => {
      show(select.options[at], text);
      select.options[at].disabled = disabled;
    });
  }

  function optionWords(one) {
    const name = one.words[language];
    if (!one.possible && one.why) return `${name} — ${fill("not_possible", { why: one.why[language] })}`;
    return one.total === null ? name : `${name} — ${fill("free_of", { free: one.free, total: one.total })}`;
  }

  /** A list with nothing to choose, and a type of GPU where none is asked for; what is hidden is not sent. */
  function hideWhatDoesNotApply(card) {
    const gpus = fieldsOf(card).find(field => field.dataset.field === "gpus");
    const none = gpus && control(gpus).value === "0";
    for (const field of fieldsOf(card)) {
      const input = control(field);
      const single = input.tagName === "SELECT" && input.options.length < 2;
      field.hidden = single || (none && field.dataset.field === "gpu_type");
      input.disabled = field.hidden;
    }
  }

  let lastPartitions = [];

  function showPartitions() {
    const open = new Set([...part("partitions").querySelectorAll("details[open]")].map(one => one.dataset.name));
    const focused = document.activeElement && document.activeElement.closest("[data-name]");
    if (focused && part("partitions").contains(focused)) return; // not under a reader's hands
    part("partitions").replaceChildren(
      ...lastPartitions.map(partition => {
        const facts = [
          words[`state_${partition.state}`],
          fill("nodes_idle", { idle: partition.nodes_idle, total: partition.nodes_total }),
          ...partition.gpus.map(gpu => {
            const down = gpu.down ? ` (${fill("down_of", { down: gpu.down })})` : "";
            return fill("free_gpus", { free: gpu.free, total: gpu.total, type: gpuName(gpu) }) + down;
          }),
          fill("free_cpus", { free: partition.cpus_free, total: partition.cpus_total }),
        ];
        if (partition.max_time_seconds) facts.push(fill("time_limit", { time: duration(partition.max_time_seconds) }));
        const summary = element("summary", {}, element("strong", {}, partition.name), ` · ${facts.join(" · ")}`);
        const details = element("details", { class: "ms-2 mt-2", "data-name": partition.name }, summary, nodeTable(partition));
        details.open = open.has(partition.name);
        return details;
      }),
    );
  }

  function nodeTable(partition) {
    const head = ["node", "state", "gpus_free", "cpus_free", "memory_free"];
    const rows = partition.nodes.map(node => {
      const gpus = node.gpus.map(gpu => `${gpu.kind === "gpu" ? gpuLabel(gpu.type) : gpu.type}: ${fill("of", gpu)}`);
      const cells = [
        node.words[language],
        gpus.join("; ") || "–",
        fill("of", { free: node.cpus_free, total: node.cpus_total }),
        fill("of", { free: roundMemory(node.memory_mib_free), total: roundMemory(node.memory_mib_total) }),
      ];
      return element("tr", {}, element("th", { scope: "row" }, node.name), ...cells.map(text => element("td", {}, text)));
    });
    if (partition.nodes_left_out) {
      const more = fill("nodes_left_out", { count: partition.nodes_left_out });
      rows.push(element("tr", {}, element("td", { colspan: "5" }, more)));
    }
    const table = element(
      "table",
      { class: "table table-sm mb-0" },
      element("thead", {}, element("tr", {}, ...head.map(name => element("th", { scope: "col" }, words[name])))),
      element("tbody", {}, ...rows),
    );
    return element("div", { class: "table-responsive", tabindex: "0", role: "region", "aria-label": partition.name }, table);
  }

  part("inventory").addEventListener("toggle", () => part("inventory").open && showPartitions());

  // ---- when it would start

  let estimateRequest = new AbortController();
  let estimateAt = 0;
  let askAgain = 0;
  let wrong = []; // [{field, message}] of the present choice

  async function refreshEstimate(lead = "") {
    estimateRequest.abort();
    window.clearTimeout(askAgain);
    const options = choice();
    part("estimate").hidden = !options; // a server of another spawner is chosen, which Slurm does not start
    if (!options) return;
    const request = (estimateRequest = new AbortController());
    estimateAt = Date.now();
    part("busy").hidden = false;
    try {
      const estimate = await ask("estimate", {}, options, request.signal);
      if (!request.signal.aborted) showEstimate(estimate, lead);
    } catch (error) {
      if (request.signal.aborted) return;
      showErrors([]);
      show(part("estimate-words"), words[error instanceof Refused ? "logged_out" : "no_estimate"]);
      part("estimate-more").replaceChildren();
    }
    if (!request.signal.aborted) part("busy").hidden = true;
  }

  function showEstimate(estimate, lead) {
    showErrors(estimate.errors);
    const more = [];
    if (estimate.errors.length) {
      const lines = estimate.errors.map(error => {
        const [label, message] = [words[error.field], error.message[language]];
        return element("li", {}, label ? fill("at_field", { label, message }) : message);
      });
      more.push(element("ul", { class: "mb-0" }, ...lines));
      show(part("estimate-words"), words.mend);
    } else show(part("estimate-words"), (lead ? `${lead} ` : "") + estimate.words[language]);
    if (estimate.alternatives.length) {
      more.push(element("p", { class: "mb-1 mt-2" }, words.sooner));
      const buttons = estimate.alternatives.slice(0, 3).map(one => {
        const button = element("button", { type: "button", class: "btn btn-sm btn-outline-contrast" }, one.words[language]);
        button.addEventListener("click", () => take(one));
        return button;
      });
      more.push(element("div", { class: "d-flex flex-wrap gap-2" }, ...buttons));
    }
    if (estimate.retry_after) {
      const seconds = Math.ceil(estimate.retry_after);
      more.push(element("p", { class: "small text-body-secondary mb-0 mt-1" }, fill("ask_later", { seconds })));
      askAgain = window.setTimeout(() => !document.hidden && refreshEstimate(), 1000 * seconds);
    }
    part("estimate-more").replaceChildren(...more);
  }

  function take(alternative) {
    const { profile, ...rest } = alternative.options;
    const card = profile === undefined ? chosenCard() : cards.find(one => one.dataset.profile === profile);
    if (!card) return;
    radio(card).disabled = false;
    radio(card).checked = true;
    for (const field of fieldsOf(card)) {
      const value = rest[field.dataset.field];
      if (value === undefined) continue;
      control(field).value = value === null ? "" : String(value);
      forget(field);
    }
    hideWhatDoesNotApply(card);
    part("estimate-words").focus();
    part("estimate-more").replaceChildren();
    refreshOffer();
    refreshEstimate(fill("taken", { what: alternative.words[language] }));
  }

  // ---- what is wrong, at its field

  function mark(field, message) {
    const input = control(field);
    show(document.getElementById(`${input.id}-error`), message);
    input.classList.toggle("is-invalid", Boolean(message));
    if (message) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }

  function forget(field) {
    delete field.dataset.refused;
    mark(field, "");
  }

  function showErrors(errors) {
    const card = chosenCard();
    wrong = [];
    for (const field of card ? fieldsOf(card) : []) {
      const error = errors.find(one => one.field === field.dataset.field);
      if (error) {
        mark(field, error.message[language]);
        wrong.push(field);
      } else if (!field.dataset.refused) mark(field, "");
    }
  }

  for (const field of root.querySelectorAll("[data-field]:has(.is-invalid)")) field.dataset.refused = "true"; // the Hub's own answer stays until it is changed

  root.closest("form").addEventListener(
    "submit",
    event => {
      if (!wrong.length) return;
      event.preventDefault();
      event.stopPropagation(); // JupyterHub's page would show that it starts
      control(wrong[0]).focus();
    },
    true,
  );

  // ---- events

  let changed = 0;
  function later() {
    window.clearTimeout(changed);
    changed = window.setTimeout(() => {
      refreshOffer();
      refreshEstimate();
    }, AFTER_A_CHANGE);
  }

  root.closest("form").addEventListener("input", event => {
    const field = event.target.closest("[data-field]");
    if (field) forget(field);
    const card = chosenCard();
    if (card) hideWhatDoesNotApply(card);
    wrong = [];
    later();
  });

  function look() {
    if (document.hidden) return;
    if (Date.now() - offerAt >= OFFER_EVERY) refreshOffer();
    if (Date.now() - estimateAt >= ESTIMATE_EVERY) refreshEstimate();
  }

  window.setInterval(look, 1000);
  document.addEventListener("visibilitychange", look);
  window.addEventListener("pageshow", event => event.persisted && window.location.reload());
  show(part("offer-state"), part("offer-state").textContent || words.loading);
  cards.forEach(hideWhatDoesNotApply);
  look();
})();
