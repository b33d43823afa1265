-- A plug-in for rspamd: two symbols from the filter's probability of spam.
--
-- Run `stream-bayes spam serve --http 127.0.0.1:11340`, put this file into /etc/rspamd/plugins.d, and into
-- /etc/rspamd/rspamd.conf.local:
--
--   stream_bayes { url = "http://127.0.0.1:11340/judge"; timeout = 5.0; }
--
-- The score of a symbol is its weight times how far the probability is from one half, so an uncertain mail adds
-- nothing. After any error no symbol is set.
--
-- With `users = true;` and a server with --users, a mail to one recipient is judged by the filter of the user with this
-- address, without what follows a plus sign.

local rspamd_http = require "rspamd_http"
local rspamd_logger = require "rspamd_logger"
local ucl = require "ucl"

local settings = {
  url = "http://127.0.0.1:11340/judge",
  timeout = 5.0,
  users = false,
  spam_weight = 6.0,
  ham_weight = -3.0,
}

local function headers_for(task)
  local headers = { ["Content-Type"] = "message/rfc822" }
  local recipients = settings.users and task:get_recipients("smtp") or {}
  if #recipients ~= 1 then
    return headers
  end
  local address = recipients[1].addr:lower():gsub("%+[^@]*", "")
  headers.User = address
  return headers
end

local function check(task)
  local function finish(err, code, body)
    if err or code ~= 200 then
      rspamd_logger.errx(task, "stream_bayes: no answer: %s", err or code)
      return
    end
    local parser = ucl.parser()
    local ok, reason = parser:parse_string(body)
    if not ok then
      rspamd_logger.errx(task, "stream_bayes: no JSON: %s", reason)
      return
    end
    local found = parser:get_object()
    local certainty = 2 * found.probability - 1
    if found.note then
      task:insert_result("STREAM_BAYES_NEW", 0.0, found.note)
    elseif found["as"] == "ham" then -- of a further class, which by the costs is better let through
      task:insert_result("STREAM_BAYES_HAM", 0.0, found.verdict)
    elseif certainty > 0 then
      task:insert_result("STREAM_BAYES_SPAM", certainty, found.verdict)
    else
      task:insert_result("STREAM_BAYES_HAM", -certainty, found.verdict)
    end
  end

  rspamd_http.request({
    task = task,
    url = settings.url,
    method = "post",
    headers = headers_for(task),
    body = task:get_content(),
    timeout = settings.timeout,
    callback = finish,
  })
end

local options = rspamd_config:get_all_opt("stream_bayes")
for name, value in pairs(options or {}) do
  settings[name] = value
end

local id = rspamd_config:register_symbol({ name = "STREAM_BAYES", type = "callback", callback = check })
for name, weight in pairs({
  STREAM_BAYES_SPAM = settings.spam_weight,
  STREAM_BAYES_HAM = settings.ham_weight,
  STREAM_BAYES_NEW = 0.0,
}) do
  rspamd_config:register_symbol({ name = name, type = "virtual", parent = id })
  rspamd_config:set_metric_symbol({ name = name, score = weight, group = "statistics" })
end
