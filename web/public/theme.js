// Runs before the first paint, so that a chosen theme never flashes the other one.
(function () {
  try {
    var chosen = localStorage.getItem("moot.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch (_) {
    /* storage may be closed to us: the system's theme then holds */
  }
})();
